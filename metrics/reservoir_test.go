// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

func TestExpDelayIsBelowItsBound(t *testing.T) {
	check := func(r uint64) {
		if expDelay(r) > maxExpDelay(r) || expDelay(r) < 0 {
			t.Fatalf("expDelay(%#x) = %d, bound %d", r, expDelay(r), maxExpDelay(r))
		}
	}
	for shift := range 65 {
		for _, d := range []uint64{0, 1, 2} {
			check(1<<shift - d)
			check(1<<shift + d)
		}
	}
	for range 100_000 {
		check(rand.Uint64() >> rand.IntN(64))
	}
}

// The delay is exponentially distributed: its deciles over the updates of one
// histogram, whose numbers and times rise evenly or not at all, each hold a
// tenth. The bound of the χ² with 9 degrees of freedom is exceeded once in 10⁹
// runs.
func TestExpDelayIsExponential(t *testing.T) {
	for _, step := range []int64{0, 1, 30, 1000, 1 << 20} {
		const n = 100_000
		var deciles [10]float64
		seed := rand.Uint64()
		for i := range int64(n) {
			u := math.Exp(-float64(expDelay(random(seed, uint64(i), uint64(i*step)))) / meanLife)
			deciles[min(int(u*10), 9)]++
		}
		chi2 := 0.0
		for _, d := range deciles {
			chi2 += (d - n/10) * (d - n/10) / (n / 10)
		}
		if chi2 > 61.4 {
			t.Errorf("steps of %d ns: χ² = %.1f, deciles %v", step, chi2, deciles)
		}
	}
}

// check checks the rules of a full reservoir.
func (h *histogram) check(t *testing.T) {
	t.Helper()
	var all []sample
	for i := range segments {
		all = append(all, h.segment(i)...)
	}
	if len(all) != reservoirSize || int(h.n) != reservoirSize {
		t.Fatalf("%d samples in the segments, n = %d", len(all), h.n)
	}
	priorities := make([]int64, 0, len(all))
	var s sums
	last := int64(math.MinInt64)
	for place, x := range all {
		priorities = append(priorities, x.at)
		if h.evictions.hasMoved(uint16(place)) {
			continue
		}
		if x.value < last {
			t.Fatal("samples out of order that are not marked as moved")
		}
		last = x.value
		s.addAll([]sample{x})
	}
	if s != h.sums {
		t.Fatalf("sums %v, want %v", h.sums, s)
	}
	slices.Sort(priorities)
	if threshold := h.threshold.Load() ^ math.MinInt64; threshold != priorities[0] {
		t.Fatalf("threshold %d, lowest priority %d", threshold, priorities[0])
	}
	for i := range h.evictions.n {
		p := priorities[h.evictions.n-1-i]
		if h.evictions.priority[i] != p || all[h.evictions.place[i]].at != p {
			t.Fatalf("place %d of the lowest: priority %d, %d at its place, want %d",
				i, h.evictions.priority[i], all[h.evictions.place[i]].at, p)
		}
	}
}

// The reservoir holds the values of the highest priorities, for any order of
// arrival.
func TestReservoirKeepsTheHighestPriorities(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	h := new(histogram)
	for i := range reservoirSize {
		h.Update(r.Int64N(1 << 40))
		if i == 300 {
			h.sortSamples()
		}
	}
	h.check(t)
	var model []sample
	for i := range segments {
		model = append(model, h.segment(i)...)
	}
	lowest := func() int {
		at := 0
		for i, s := range model {
			if s.at < model[at].at {
				at = i
			}
		}
		return at
	}
	priorities := slices.Clone(model)
	for step := range 20_000 {
		// Mostly near the lowest ones, where the lists change.
		p := priorities[r.IntN(len(priorities))].at + int64(r.Float64()*meanLife)
		v := int64(r.Uint64()) >> (r.IntN(8) * r.IntN(9)) // many near the ends, so that the sums of squares borrow
		h.offer(v, p)
		if i := lowest(); p > model[i].at {
			model[i] = sample{v, p}
		}
		if r.IntN(100) == 0 {
			h.sortSamples()
		}
		if step%50 == 0 {
			h.check(t)
		}
	}
	var got []sample
	for i := range segments {
		got = append(got, h.segment(i)...)
	}
	order := func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.value, b.value))
	}
	slices.SortFunc(got, order)
	slices.SortFunc(model, order)
	if !slices.Equal(got, model) {
		t.Fatal("the reservoir does not hold the samples of the highest priorities")
	}
}

// The list of the lowest has the lowest samples, for any number of samples
// within the span.
func TestFindEvictions(t *testing.T) {
	h := new(histogram)
	for i := range int64(reservoirSize) {
		h.Update(i)
	}
	floor := h.threshold.Load() ^ math.MinInt64
	for _, span := range []int64{0, 1, 1e9, 10e9, 10_000e9, math.MaxInt64} {
		h.evictions.span = span
		h.findEvictions(floor)
		h.check(t)
		if h.evictions.n == 0 {
			t.Errorf("span %d: the list of the lowest is empty", span)
		}
	}
}

// Once there is a threshold, other goroutines add to the count. So all earlier
// values are in it by then, or some would be lost.
func TestCountComesBeforeThreshold(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("the test needs two processors")
	}
	for range 1000 {
		h := new(histogram)
		for range reservoirSize - 1 {
			h.Update(5)
		}
		together(2, func(g int) {
			if g == 0 {
				h.Update(5)
				return
			}
			for h.threshold.Load() == 0 {
				h.count.Load() // keeps it in this core's cache, so that storing it takes time
			}
			if n := h.count.Load(); n != reservoirSize {
				t.Errorf("with a threshold, the count is %d, want %d", n, reservoirSize)
			}
		})
	}
}

// An update that found room for itself, but comes when the reservoir is full,
// has the same chance as later updates.
func TestFillOfFullReservoir(t *testing.T) {
	h := New().Histogram("filled meanwhile").(*histogram)
	for range reservoirSize {
		h.Update(1)
	}
	for range reservoirSize {
		h.fill(2, now())
	}
	if n := h.count.Load(); n != 2*reservoirSize {
		t.Errorf("count %d, want %d", n, 2*reservoirSize)
	}
	twos := 0
	for i := range segments {
		for _, s := range h.segment(i) {
			if s.value == 2 {
				twos++
			}
		}
	}
	// One half of the values is expected, with a standard deviation of 16.
	if twos < reservoirSize/2-160 || twos > reservoirSize/2+160 {
		t.Errorf("%d of %d values in the sample came late, want about half", twos, reservoirSize)
	}
}
