// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/metrics"
)

// A histogram with more than 1,028 updates describes a random sample of them.
// Its distribution is what these checks judge: an update at time t gets the
// priority e^(decay*t)/u with u uniform in (0, 1), and the 1,028 of the highest
// priority are kept (G. Cormode et al., "Forward Decay", ICDE 2009).
//
// The values themselves tell which updates are in the sample: each belongs to
// a class, and the value of a class is so much larger than that of the class
// before it that the mean gives the number of members of every class. That
// number's mean and its variance over many histograms are compared with those
// of a plain simulation of the definition above. Each comparison fails a right
// implementation with a probability of 2e-9 (six standard deviations), all of
// them together with less than 1e-6.
//
// Implementations are free to keep the newest value whatever its priority, as
// OPA does: every pattern ends with an update that has the highest priority.
const (
	decay              = 0.015 // per second
	sampleClasses      = 6
	standardDeviations = 6
)

var sampleBehaviours = func() []behaviour {
	table := []behaviour{{
		name: "sample bounds",
		rule: "Beyond 1,028 updates, count counts all of them, and the rest describes some of the values.",
		check: func(t *testing.T, newCollection func() collection) {
			h := newCollection().Histogram("h")
			for i := range 5 * sampleSize {
				h.Update(int64(i))
			}
			v := h.Value().(map[string]any)
			if v["count"] != int64(5*sampleSize) {
				t.Errorf("count is %v after %d updates", v["count"], 5*sampleSize)
			}
			least, _ := v["min"].(int64)
			most, _ := v["max"].(int64)
			// The ends of 1,028 distinct values are at least 1,027 apart.
			if least < 0 || most >= 5*sampleSize || most-least < sampleSize-1 {
				t.Errorf("the sample is from %v to %v", v["min"], v["max"])
			}
			last := float64(least)
			for _, p := range percentileKeys {
				f, ok := v[p.key].(float64)
				if !ok || f < last || f > float64(most) {
					t.Errorf("%s is %v, want a float64 from %v to %v", p.key, v[p.key], last, most)
				}
				last = f
			}
		},
	}}
	for _, p := range samplePatterns {
		table = append(table, behaviour{
			name: p.name, rule: p.rule, virtualTime: true,
			check: func(t *testing.T, newCollection func() collection) {
				err := p.check(func() metrics.Histogram { return newCollection().Histogram("h") })
				if err != nil {
					t.Error(err)
				}
			},
		})
	}
	return table
}()

// A samplePattern is an order of updates. It calls add for n updates of a
// class, some time after the updates before.
type samplePattern struct {
	name, rule string
	updates    func(add func(after time.Duration, n, class int))
}

var samplePatterns = []samplePattern{
	{
		"sample by order of arrival",
		"Updates at the same time are equally likely to be in the sample, the first and the last.",
		func(add func(time.Duration, int, int)) {
			for class := range sampleClasses {
				add(0, sampleSize, class)
			}
		},
	},
	{
		"sample by turns",
		"Updates at the same time are equally likely to be in the sample, in whatever turn they arrive.",
		func(add func(time.Duration, int, int)) {
			for i := range sampleClasses * sampleSize {
				add(0, 1, i%sampleClasses)
			}
		},
	},
	{
		"sample by age",
		"The weight of an update falls by a factor of e in 1/0.015 seconds, also in a histogram that is hours old.",
		func(add func(time.Duration, int, int)) {
			for range 3 * 60 {
				add(time.Minute, 10, 0)
			}
			for range 5 {
				add(30*time.Second, 500, 0)
			}
			for class := range 5 {
				add(30*time.Second, 500, class+1)
			}
		},
	},
	{
		"sample of unequal weights",
		"Many old updates weigh as much as few new ones.",
		func(add func(time.Duration, int, int)) {
			add(0, 10_000, 1)
			add(0, 10_000, 2)
			add(230*time.Second, 300, 3)
			add(0, 300, 4)
		},
	},
	{
		"sample after hours without updates",
		"After hours, new updates replace old ones, any of them with the same probability.",
		func(add func(time.Duration, int, int)) {
			for class := range 4 {
				add(0, sampleSize, class)
			}
			add(2*time.Hour, 300, 4)
			add(5*time.Hour, 200, 5)
		},
	},
}

// A burst is n updates at the same time, some time after the burst before.
type burst struct {
	after time.Duration
	n     int
	class int
}

// bursts returns the pattern's updates and the closing one.
func (p samplePattern) bursts() []burst {
	var bursts []burst
	add := func(after time.Duration, n, class int) { bursts = append(bursts, burst{after, n, class}) }
	p.updates(add)
	add(10*time.Minute, 1, 0)
	return bursts
}

// composition is the number of members of each class in a sample.
type composition [sampleClasses]int

// classValue returns the value of the updates of a class: 0, and then the
// powers of a number greater than any count.
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

// compositionOf reads the composition from a histogram's Value, and checks
// that the rest of it fits.
func compositionOf(value any, updates int64) (composition, error) {
	v, _ := value.(map[string]any)
	mean, ok := v["mean"].(float64)
	if !ok {
		return composition{}, fmt.Errorf("a histogram's value is %T %v", value, value)
	}
	var c composition
	rest, others := int64(math.Round(mean*sampleSize)), sampleSize
	var values []int64
	for class := sampleClasses - 1; class > 0; class-- {
		c[class] = int(rest / classValue(class))
		rest %= classValue(class)
		others -= c[class]
	}
	c[0] = others
	for class, n := range c {
		if n < 0 {
			return c, fmt.Errorf("the mean %v is not that of %d of the values", mean, sampleSize)
		}
		values = append(values, slices.Repeat([]int64{classValue(class)}, n)...)
	}
	want := summarize(values)
	want["count"] = updates
	return c, summaryError(value, want)
}

// check updates many histograms by the pattern and compares their samples with
// the reference. It has to be called in a synctest bubble.
func (p samplePattern) check(newHistogram func() metrics.Histogram) error {
	bursts := p.bursts()
	histograms := make([]metrics.Histogram, sampleHistograms)
	for i := range histograms {
		histograms[i] = newHistogram()
	}
	var updates int64
	for _, b := range bursts {
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
		c, err := compositionOf(h.Value(), updates)
		if err != nil {
			return err
		}
		samples[i] = c
	}
	reference := make([]composition, referenceSamples)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range reference {
		reference[i] = referenceSample(bursts, rng)
	}
	return compareSamples(samples, reference)
}

// referenceSample draws a sample by definition.
func referenceSample(bursts []burst, rng *rand.Rand) composition {
	var priorities []float64 // logarithms
	var at time.Duration
	for _, b := range bursts {
		priorities = slices.Grow(priorities, b.n)
		at += b.after
		for range b.n {
			// -ln u is exponentially distributed.
			priorities = append(priorities, decay*at.Seconds()+rng.ExpFloat64())
		}
	}
	lowest := largest(priorities, sampleSize)
	var c composition
	for _, b := range bursts {
		for _, p := range priorities[:b.n] {
			if p >= lowest {
				c[b.class]++
			}
		}
		priorities = priorities[b.n:]
	}
	return c
}

// largest returns the n-th largest of the numbers.
func largest(numbers []float64, n int) float64 {
	pivot := numbers[len(numbers)/2]
	above, below := make([]float64, 0, len(numbers)), make([]float64, 0, len(numbers))
	for _, v := range numbers {
		if v > pivot {
			above = append(above, v)
		} else if v < pivot {
			below = append(below, v)
		}
	}
	equal := len(numbers) - len(above) - len(below)
	switch {
	case n <= len(above):
		return largest(above, n)
	case n <= len(above)+equal:
		return pivot
	default:
		return largest(below, n-len(above)-equal)
	}
}

// compareSamples compares the mean and the variance of each class's count.
func compareSamples(samples, reference []composition) error {
	for class := range sampleClasses {
		mean, variance := moments(samples, class)
		wantMean, wantVariance := moments(reference, class)
		if wantVariance == 0 {
			if variance != 0 || mean != wantMean {
				return fmt.Errorf("class %d has %v members in the mean, with variance %v; it should always have %v", class, mean, variance, wantMean)
			}
			continue
		}
		n, m := float64(len(samples)), float64(len(reference))
		z := (mean - wantMean) / math.Sqrt(wantVariance*(1/n+1/m))
		if math.Abs(z) > standardDeviations {
			return fmt.Errorf("class %d has %.2f members in the mean of %v histograms, and %.2f by the definition: off by %.1f standard deviations", class, mean, n, wantMean, z)
		}
		if z := varianceRatioScore(variance/wantVariance, n-1, m-1); math.Abs(z) > standardDeviations {
			return fmt.Errorf("the number of members of class %d has a variance of %.2f over %v histograms, and %.2f by the definition: off by %.1f standard deviations", class, variance, n, wantVariance, z)
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
