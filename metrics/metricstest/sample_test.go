// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metricstest

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regometer/regometer/metrics"
)

// TestSampleChecksFindFlaws runs the checks of the sample on a plain reservoir,
// which passes all of them, and on reservoirs with one flaw each, which a check
// rejects.
func TestSampleChecksFindFlaws(t *testing.T) {
	checkWith := func(t *testing.T, p samplePattern, flaw func(h *reservoir)) (err error) {
		synctest.Test(t, func(*testing.T) {
			err = p.check(func() metrics.Histogram {
				h := newReservoir()
				flaw(h)
				return h
			})
		})
		return err
	}
	for _, p := range samplePatterns {
		if err := checkWith(t, p, func(*reservoir) {}); err != nil {
			t.Errorf("%s, without a flaw: %v", p.name, err)
		}
		// OPA's reservoir takes in the newest value, at any priority.
		if err := checkWith(t, p, func(h *reservoir) { h.popFirst = true }); err != nil {
			t.Errorf("%s, with the newest value always in it: %v", p.name, err)
		}
	}

	const byArrival, byAge = "sample by order of arrival", "sample by age"
	alpha := func(factor float64) func(h *reservoir) {
		return func(h *reservoir) { h.decay = decay * factor }
	}
	for _, tc := range []struct {
		flaw  string
		set   func(h *reservoir)
		found string // the pattern
	}{
		{"decay 10 % too fast", alpha(1.1), byAge},
		{"decay 10 % too slow", alpha(0.9), byAge},
		{"ages ignored", alpha(0), "sample after hours without updates"},
		{"weight times u", func(h *reservoir) {
			h.draw = func(r *rand.Rand) float64 { return math.Log(1 - r.Float64()) }
		}, "sample of unequal weights"},
		{"too few bits in u", func(h *reservoir) {
			h.draw = func(r *rand.Rand) float64 { return -math.Log(float64(r.IntN(16)+1) / 16) }
		}, byArrival},
		{"same draws in every histogram", func(h *reservoir) { h.rng = rand.New(rand.NewPCG(1, 1)) }, byArrival},
		{"too even draws", func(h *reservoir) {
			var i int
			h.draw = func(*rand.Rand) float64 {
				i++
				_, u := math.Modf(float64(i) * math.Phi)
				return -math.Log(u)
			}
		}, byArrival},
		{"two draws in turn", func(h *reservoir) {
			var i int
			h.draw = func(r *rand.Rand) float64 {
				i++
				return r.ExpFloat64() * (1 + 0.2*float64(i%2))
			}
		}, "sample by turns"},
		{"clock read every 1000 updates", func(h *reservoir) { h.clockEvery = 1000 }, byAge},
		{"clock stands after an hour", func(h *reservoir) { h.clockEnd = time.Hour }, byAge},
		{"every update enters, in place of any", func(h *reservoir) { h.replaceAny = true }, byArrival},
		{"first values stay", func(h *reservoir) { h.pinned = 25 }, byArrival},
	} {
		t.Run(tc.flaw, func(t *testing.T) {
			i := slices.IndexFunc(samplePatterns, func(p samplePattern) bool { return p.name == tc.found })
			err := checkWith(t, samplePatterns[i], tc.set)
			if err == nil {
				t.Errorf("%s does not find it", tc.found)
			}
			t.Log(err)
		})
	}
}

// reservoir is a plain implementation of the sample, with flaws to choose.
type reservoir struct {
	rng   *rand.Rand
	decay float64
	draw  func(r *rand.Rand) float64 // of an exponential distribution
	start time.Time

	clockEvery int           // updates
	clockEnd   time.Duration // 0: never
	replaceAny bool
	popFirst   bool
	pinned     int

	count    int64
	age      time.Duration
	values   []int64
	priority []float64 // logarithms; a heap, the lowest first
}

func newReservoir() *reservoir {
	return &reservoir{
		rng:        rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		decay:      decay,
		draw:       func(r *rand.Rand) float64 { return r.ExpFloat64() },
		start:      time.Now(),
		clockEvery: 1,
	}
}

func (h *reservoir) Update(v int64) {
	if h.count%int64(h.clockEvery) == 0 {
		h.age = time.Since(h.start)
		if h.clockEnd > 0 {
			h.age = min(h.age, h.clockEnd)
		}
	}
	h.count++
	priority := h.decay*h.age.Seconds() + h.draw(h.rng)
	if len(h.values) < sampleSize {
		if len(h.values) < h.pinned {
			priority = math.Inf(1)
		}
		h.values = append(h.values, v)
		h.priority = append(h.priority, priority)
		if len(h.values) == sampleSize {
			heap.Init(h)
		}
		return
	}
	i := 0
	if h.replaceAny {
		i = h.rng.IntN(sampleSize)
	} else if priority < h.priority[0] && !h.popFirst {
		return
	}
	h.values[i], h.priority[i] = v, priority
	heap.Fix(h, i)
}

func (h *reservoir) Len() int           { return len(h.values) }
func (h *reservoir) Less(i, j int) bool { return h.priority[i] < h.priority[j] }
func (h *reservoir) Swap(i, j int) {
	h.values[i], h.values[j] = h.values[j], h.values[i]
	h.priority[i], h.priority[j] = h.priority[j], h.priority[i]
}
func (h *reservoir) Push(any) { panic("never called") }
func (h *reservoir) Pop() any { panic("never called") }

func (h *reservoir) Value() any {
	v := summarize(h.values)
	v["count"] = h.count
	return v
}
