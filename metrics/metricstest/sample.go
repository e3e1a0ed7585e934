// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/regometer/regometer/metrics"
)

// A histogram with more than 1,028 updates describes a random sample of them.
// These checks judge the distribution of the sample. An update at time t gets
// the priority e^(decay*t)/u with u uniform in (0, 1). The sample is the 1,028
// updates with the highest priorities (G. Cormode et al., "Forward Decay", ICDE
// 2009).
//
// The values are 0 and 1, so the mean of the sample tells how many ones are in
// it. The checks compare the mean and the variance of this number over many
// histograms with those of a plain simulation of the definition above. A correct
// implementation fails one comparison with a probability of 2e-9 (six standard
// deviations), and any of them with less than 1e-7.
//
// An implementation may keep the newest value whatever its priority, as OPA
// does. So every pattern ends with an update that has the highest priority.
const (
	decay              = 0.015 // per second
	standardDeviations = 6
)

// burst is n updates at the same time, some time after the previous burst.
type burst struct {
	after time.Duration
	n     int
	value int64
}

// samplePattern is an order of updates.
type samplePattern struct {
	name, rule string
	bursts     []burst
	reference  func() []float64 // returns the numbers of ones in samples that are drawn as the definition says, once
}

func newPattern(name, rule string, bursts ...burst) samplePattern {
	bursts = append(bursts, burst{10 * time.Minute, 1, 0})
	return samplePattern{name, rule, bursts, sync.OnceValue(func() []float64 { return reference(bursts) })}
}

var samplePatterns = []samplePattern{
	newPattern("sample by order of arrival",
		"All updates at the same time are equally likely to be in the sample, from the first to the last.",
		burst{0, 3 * sampleSize, 1}, burst{0, 3 * sampleSize, 0}),
	newPattern("sample by turns",
		"All updates at the same time are equally likely to be in the sample, even if their values alternate.",
		slices.Repeat([]burst{{0, 1, 0}, {0, 1, 1}}, 3*sampleSize)...),
	newPattern("sample by age",
		"The weight of an update falls by a factor of e in 1/0.015 seconds, even in a histogram that is hours old.",
		slices.Concat(slices.Repeat([]burst{{time.Minute, 10, 0}}, 3*60),
			slices.Repeat([]burst{{30 * time.Second, 500, 0}}, 9), slices.Repeat([]burst{{30 * time.Second, 500, 1}}, 1))...),
	newPattern("sample of unequal weights",
		"Many old updates can weigh as much as a few new ones.",
		burst{0, 20_000, 0}, burst{230 * time.Second, 600, 1}),
	newPattern("sample after hours without updates",
		"After hours, new updates replace old ones.",
		burst{0, 4 * sampleSize, 0}, burst{2 * time.Hour, 300, 1}, burst{5 * time.Hour, 200, 1}),
}

// sampleBehaviours returns a behaviour for each pattern.
func sampleBehaviours() []behaviour {
	var table []behaviour
	for _, p := range samplePatterns {
		table = append(table, behaviour{name: p.name, rule: p.rule, check: func(s *script) {
			if err := p.check(func() metrics.Histogram { return s.another().Histogram("h") }); err != nil {
				s.Error(err)
			}
		}})
	}
	return table
}

// check updates many histograms by the pattern, and returns an error if their
// samples do not fit the reference. The caller runs it in a synctest bubble.
func (p samplePattern) check(newHistogram func() metrics.Histogram) error {
	histograms := make([]metrics.Histogram, sampleHistograms)
	for i := range histograms {
		histograms[i] = newHistogram()
	}
	var updates int64
	for _, b := range p.bursts {
		if b.after > 0 {
			time.Sleep(b.after)
		}
		for _, h := range histograms {
			for range b.n {
				h.Update(b.value)
			}
		}
		updates += int64(b.n)
	}
	var ones []float64
	for _, h := range histograms {
		value, _ := h.Value().(map[string]any)
		mean, _ := value["mean"].(float64)
		n := min(max(int(math.Round(mean*sampleSize)), 0), sampleSize)
		want := summarize(slices.Concat(make([]int64, sampleSize-n), slices.Repeat([]int64{1}, n)))
		want["count"] = updates
		if err := summaryError(value, want); err != nil {
			return err
		}
		ones = append(ones, float64(n))
	}
	return compareSamples(ones, p.reference())
}

// reference draws samples as the definition says.
func reference(bursts []burst) (ones []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	type update struct {
		priority float64 // as a logarithm
		value    int64
	}
	var updates []update
	for range referenceSamples {
		updates = updates[:0]
		var at time.Duration
		for _, b := range bursts {
			at += b.after
			for range b.n {
				// -ln u is exponentially distributed.
				updates = append(updates, update{decay*at.Seconds() + rng.ExpFloat64(), b.value})
			}
		}
		slices.SortFunc(updates, func(a, b update) int { return cmp.Compare(b.priority, a.priority) })
		n := int64(0)
		for _, u := range updates[:sampleSize] {
			n += u.value
		}
		ones = append(ones, float64(n))
	}
	return ones
}

// compareSamples returns an error if the mean or the variance of the number of
// ones is off by too much.
func compareSamples(samples, reference []float64) error {
	mean, variance := moments(samples)
	wantMean, wantVariance := moments(reference)
	n, m := float64(len(samples)), float64(len(reference))
	z, zVariance := 0.0, 0.0 // in standard deviations
	if wantVariance > 0 {
		z = (mean - wantMean) / math.Sqrt(wantVariance*(1/n+1/m))
		zVariance = varianceRatioScore(variance/wantVariance, n-1, m-1)
	} else if variance != 0 || mean != wantMean {
		z = math.Inf(1)
	}
	if max(math.Abs(z), math.Abs(zVariance)) > standardDeviations {
		return fmt.Errorf("over %v histograms, the number of ones in the sample has the mean %.2f and the variance %.2f, "+
			"want %.2f and %.2f: off by %.1f and %.1f standard deviations", n, mean, variance, wantMean, wantVariance, z, zVariance)
	}
	return nil
}

// moments returns the mean and the variance of numbers.
func moments(numbers []float64) (mean, variance float64) {
	for _, v := range numbers {
		mean += v
	}
	mean /= float64(len(numbers))
	for _, v := range numbers {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(numbers)-1)
}

// varianceRatioScore turns a ratio of variances with n and m degrees of freedom
// into a standard normal score (E. Paulson's approximation of the F
// distribution, 1942).
func varianceRatioScore(ratio, n, m float64) float64 {
	root := math.Cbrt(ratio)
	a, b := 2/(9*n), 2/(9*m)
	return ((1-b)*root - (1 - a)) / math.Sqrt(b*root*root+a)
}
