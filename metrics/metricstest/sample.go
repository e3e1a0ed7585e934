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
// The values tell which updates are in the sample. Each update belongs to a
// class, and its value stands for the class. The values of two classes differ
// so much that the mean of the sample gives the number of members of every
// class. The checks compare the mean and the variance of this number over many
// histograms with those of a plain simulation of the definition above. A
// correct implementation fails one comparison with a probability of 2e-9 (six
// standard deviations), and any of them with less than 1e-6.
//
// An implementation may keep the newest value whatever its priority, as OPA
// does. So every pattern ends with an update that has the highest priority.
const (
	decay              = 0.015 // per second
	sampleClasses      = 6
	standardDeviations = 6
)

// burst is n updates at the same time, some time after the previous burst.
type burst struct {
	after time.Duration
	n     int
	class int
}

// samplePattern is an order of updates.
type samplePattern struct {
	name, rule string
	bursts     []burst
	reference  func() []composition // draws samples as the definition says, once
}

func newPattern(name, rule string, bursts ...[]burst) samplePattern {
	all := append(slices.Concat(bursts...), burst{10 * time.Minute, 1, 0})
	return samplePattern{name, rule, all, sync.OnceValue(func() []composition { return reference(all) })}
}

// burstsOf returns n bursts. burstOf(i) makes burst i.
func burstsOf(n int, burstOf func(i int) burst) []burst {
	bursts := make([]burst, n)
	for i := range bursts {
		bursts[i] = burstOf(i)
	}
	return bursts
}

var samplePatterns = []samplePattern{
	newPattern("sample by order of arrival",
		"All updates at the same time are equally likely to be in the sample, from the first to the last.",
		burstsOf(sampleClasses, func(i int) burst { return burst{0, sampleSize, i} })),
	newPattern("sample by turns",
		"All updates at the same time are equally likely to be in the sample, even if their values alternate.",
		burstsOf(sampleClasses*sampleSize, func(i int) burst { return burst{0, 1, i % sampleClasses} })),
	newPattern("sample by age",
		"The weight of an update falls by a factor of e in 1/0.015 seconds, even in a histogram that is hours old.",
		burstsOf(3*60, func(int) burst { return burst{time.Minute, 10, 0} }),
		burstsOf(10, func(i int) burst { return burst{30 * time.Second, 500, max(i-4, 0)} })),
	newPattern("sample of unequal weights",
		"Many old updates can weigh as much as a few new ones.",
		[]burst{{0, 10_000, 1}, {0, 10_000, 2}, {230 * time.Second, 300, 3}, {0, 300, 4}}),
	newPattern("sample after hours without updates",
		"After hours, new updates replace old ones. All new updates have the same probability of entering.",
		burstsOf(4, func(i int) burst { return burst{0, sampleSize, i} }),
		[]burst{{2 * time.Hour, 300, 4}, {5 * time.Hour, 200, 5}}),
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

// composition is the number of members of each class in a sample.
type composition [sampleClasses]int

// classValue returns the value of the updates of a class. It is 0 for class 0.
// For the others, it is a power of a number that is greater than any count.
func classValue(class int) int64 {
	if class == 0 {
		return 0
	}
	v := int64(1)
	for range class - 1 {
		v *= sampleSize + 1
	}
	return v
}

// compositionOf reads the composition from a histogram's Value. It fails if the
// other fields do not fit.
func compositionOf(value any, updates int64) (composition, error) {
	v, _ := value.(map[string]any)
	mean, ok := v["mean"].(float64)
	if !ok {
		return composition{}, fmt.Errorf("a histogram's value is %T %v", value, value)
	}
	c := composition{sampleSize}
	rest := int64(math.Round(mean * sampleSize))
	var values []int64
	for class := sampleClasses - 1; class > 0; class-- {
		c[class] = int(rest / classValue(class))
		rest %= classValue(class)
		c[0] -= c[class]
	}
	for class, n := range c {
		if n < 0 {
			return c, fmt.Errorf("the mean %v is not the mean of %d of the values", mean, sampleSize)
		}
		values = append(values, slices.Repeat([]int64{classValue(class)}, n)...)
	}
	want := summarize(values)
	want["count"] = updates
	return c, summaryError(value, want)
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
		value := classValue(b.class)
		for _, h := range histograms {
			for range b.n {
				h.Update(value)
			}
		}
		updates += int64(b.n)
	}
	samples := make([]composition, len(histograms))
	for i, h := range histograms {
		var err error
		if samples[i], err = compositionOf(h.Value(), updates); err != nil {
			return err
		}
	}
	return compareSamples(samples, p.reference())
}

// reference draws samples as the definition says.
func reference(bursts []burst) []composition {
	rng := rand.New(rand.NewPCG(3, 4))
	samples := make([]composition, referenceSamples)
	type update struct {
		priority float64 // as a logarithm
		class    int
	}
	var updates []update
	for i := range samples {
		updates = updates[:0]
		var at time.Duration
		for _, b := range bursts {
			at += b.after
			for range b.n {
				// -ln u is exponentially distributed.
				updates = append(updates, update{decay*at.Seconds() + rng.ExpFloat64(), b.class})
			}
		}
		slices.SortFunc(updates, func(a, b update) int { return cmp.Compare(b.priority, a.priority) })
		for _, u := range updates[:sampleSize] {
			samples[i][u.class]++
		}
	}
	return samples
}

// compareSamples returns an error if the mean or the variance of a class's
// count is off by too much.
func compareSamples(samples, reference []composition) error {
	for class := range sampleClasses {
		mean, variance := moments(samples, class)
		wantMean, wantVariance := moments(reference, class)
		n, m := float64(len(samples)), float64(len(reference))
		z, zVariance := 0.0, 0.0 // in standard deviations
		if wantVariance > 0 {
			z = (mean - wantMean) / math.Sqrt(wantVariance*(1/n+1/m))
			zVariance = varianceRatioScore(variance/wantVariance, n-1, m-1)
		} else if variance != 0 || mean != wantMean {
			z = math.Inf(1)
		}
		if max(math.Abs(z), math.Abs(zVariance)) > standardDeviations {
			return fmt.Errorf("over %v histograms, the number of members of class %d has the mean %.2f and the variance %.2f, "+
				"want %.2f and %.2f: off by %.1f and %.1f standard deviations", n, class, mean, variance, wantMean, wantVariance, z, zVariance)
		}
	}
	return nil
}

// moments returns the mean and the variance of a class's count.
func moments(samples []composition, class int) (mean, variance float64) {
	for _, s := range samples {
		mean += float64(s[class])
	}
	mean /= float64(len(samples))
	for _, s := range samples {
		d := float64(s[class]) - mean
		variance += d * d
	}
	return mean, variance / float64(len(samples)-1)
}

// varianceRatioScore turns a ratio of variances with n and m degrees of freedom
// into a standard normal score (E. Paulson's approximation of the F
// distribution, 1942).
func varianceRatioScore(ratio, n, m float64) float64 {
	root := math.Cbrt(ratio)
	a, b := 2/(9*n), 2/(9*m)
	return ((1-b)*root - (1 - a)) / math.Sqrt(b*root*root+a)
}
