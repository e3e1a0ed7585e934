// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/race"
)

func newDurations(values ...int64) *durations {
	d := new(durations)
	for _, n := range values {
		d.record(n)
	}
	return d
}

func (d *durations) text() string {
	var s exphist.Snapshot
	d.snapshot(&s, new(exphist.Content))
	return histogramText(&s)
}

// snapshotOfAll returns what a histogram holds after all values.
func snapshotOfAll(values ...int64) *exphist.Snapshot {
	h, s := exphist.New(exphist.Nanosecond), new(exphist.Snapshot)
	for _, n := range values {
		h.Record(n)
	}
	h.Snapshot(s)
	return s
}

// randomValues returns up to n values of one of several kinds.
func randomValues(r *rand.Rand, n int) []int64 {
	values := make([]int64, r.IntN(n+1))
	kind := r.IntN(5)
	for i := range values {
		switch kind {
		case 0: // latencies
			values[i] = int64(200e3 * math.Exp(r.NormFloat64()))
		case 1: // all sizes
			values[i] = 1 + int64(r.Uint64()>>(1+r.IntN(63)))%math.MaxInt64
		case 2: // the ends of the types
			values[i] = []int64{1, math.MaxUint32 - 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64 - 1, math.MaxInt64}[r.IntN(6)]
		case 3: // wide buckets
			values[i] = math.MaxInt64 - int64(r.Uint64()>>(1+r.IntN(10)))
			values[i] = max(values[i], 1)
		default: // one bucket
			values[i] = 1_000_000 + int64(r.IntN(1000))
		}
	}
	return values
}

// TestDurationsAreAHistogram: whatever the values and their number, durations
// hold what a histogram holds, also restored, and recording goes on after that.
func TestDurationsAreAHistogram(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	for i := range 2000 {
		values, more := randomValues(r, 1<<r.IntN(12)), randomValues(r, 20)
		d, want, restored := newDurations(values...), snapshotOfAll(values...), new(durations)
		if got := d.text(); got != histogramText(want) {
			t.Fatalf("%d: got %s, want %s", i, got, histogramText(want))
		}
		restored.restore(want)
		if got := restored.text(); got != histogramText(want) {
			t.Fatalf("%d: restored %s, want %s", i, got, histogramText(want))
		}
		for _, n := range more {
			restored.record(n)
		}
		if got, want := restored.text(), histogramText(snapshotOfAll(append(values, more...)...)); got != want {
			t.Fatalf("%d: restored and recorded %s, want %s", i, got, want)
		}
	}
	edge := []int64{5, 6, 7, math.MaxUint32 + 1} // few has room for the last one
	if got, want := newDurations(edge...).text(), histogramText(snapshotOfAll(edge...)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMergeDurations: in whatever order durations are merged, the result is
// that of all values in one histogram, and nothing is shared.
func TestMergeDurations(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 2))
	for i := range 2000 {
		parts := make([]*durations, 1+r.IntN(5))
		all := []int64{7}
		for k := range parts {
			values := randomValues(r, 1<<r.IntN(10))
			all = append(all, values...)
			parts[k] = newDurations(values...)
		}
		want := histogramText(snapshotOfAll(all...))
		for range 3 {
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			d := new(durations)
			for _, p := range parts {
				before := p.text()
				d.merge(p)
				if len(parts) == 1 {
					d.record(7)
				}
				if p.text() != before {
					t.Fatalf("%d: merging or recording changed what was merged", i)
				}
			}
			if len(parts) > 1 {
				d.record(7)
			}
			if got := d.text(); got != want {
				t.Fatalf("%d: got %s, want %s", i, got, want)
			}
		}
	}
}

// TestMergedDurationsShareNoMemory: what is recorded after a merge is in one of
// the two alone.
func TestMergedDurationsShareNoMemory(t *testing.T) {
	t.Parallel()
	var values []int64
	for range 100 {
		from, into := newDurations(values...), new(durations)
		into.merge(from)
		into.record(200_000)
		from.record(300_000)
		for d, last := range map[*durations]int64{into: 200_000, from: 300_000} {
			all := append(slices.Clone(values), last)
			if got, want := d.text(), histogramText(snapshotOfAll(all...)); got != want {
				t.Fatalf("%d values: got %s, want %s", len(values), got, want)
			}
		}
		values = append(values, int64(1000*(1+len(values))))
	}
}

func TestAddBytes(t *testing.T) {
	t.Parallel()
	for a := range uint64(256) {
		for b := range uint64(256) {
			for carry := range uint64(2) {
				sum, carries := addBytes(a<<16|a, b<<16|b, carry<<16|carry)
				n := a + b + carry
				if sum != n&0xFF<<16|n&0xFF || carries != n>>8<<16|n>>8 {
					t.Fatalf("%d + %d + %d: sum %x, carries %x", a, b, carry, sum, carries)
				}
			}
		}
	}
}

// TestMergeLargeCounts: counts of one to eight digits are merged as those of
// snapshots are.
func TestMergeLargeCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	merge := func(s, o *exphist.Snapshot) {
		if err := s.Merge(o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		d, want := new(durations), new(exphist.Snapshot)
		for range 2 {
			part, s := new(durations), new(exphist.Snapshot)
			for range 1 + r.IntN(52) { // twice as many in each bucket, and some more
				values, twin := randomValues(r, 1<<r.IntN(10)), new(durations)
				twin.merge(part)
				part.merge(twin)
				part.merge(newDurations(values...))
				merge(s, s)
				merge(s, snapshotOfAll(values...))
			}
			d.merge(part)
			merge(want, s)
		}
		if want.Count() == 0 {
			continue
		}
		if got := d.text(); got != histogramText(want) {
			t.Fatalf("%d: got %s, want %s", i, got, histogramText(want))
		}
	}
}

// TestDurationsMemory measures the memory of durations with log-normal values.
// It does not run in parallel with others, whose memory it would measure.
func TestDurationsMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector changes what is allocated")
	}
	if size := unsafe.Sizeof(wide{}); size > wideSize && unsafe.Sizeof(0) == 8 {
		t.Errorf("a wide takes %d bytes, wideSize is %d", size, wideSize)
	}
	r := rand.New(rand.NewPCG(1, 0))
	for _, test := range []struct{ values, histograms, most int }{
		{1, 5000, 48}, {4, 5000, 64}, {20, 2000, 120}, {100, 1000, 450}, {1000, 500, 510}, {100_000, 20, 1170},
	} {
		values := make([]int64, test.values)
		for i := range values {
			values[i] = int64(200e3 * math.Exp(r.NormFloat64()))
		}
		least := math.MaxInt
		for range 3 { // another test's garbage may be in one of them
			all := make([]durations, test.histograms)
			before := heap()
			for i := range all {
				all[i] = *newDurations(values...)
			}
			least = min(least, int(unsafe.Sizeof(all[0]))+int(int64(heap())-int64(before))/len(all))
			runtime.KeepAlive(all)
		}
		t.Log(fmt.Sprint(test.values, " values: ", least, " bytes"))
		if least > test.most {
			t.Errorf("%d values take %d bytes, at most %d are expected", test.values, least, test.most)
		}
	}
}

// FuzzDurations compares merged durations with a histogram of the same values.
func FuzzDurations(f *testing.F) {
	f.Add(uint64(1), []byte("some values"))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		var parts [2]durations
		h, want := exphist.New(exphist.Nanosecond), new(exphist.Snapshot)
		for _, b := range data {
			n := max(int64(b)<<r.IntN(64), 1)
			h.Record(n)
			parts[r.IntN(2)].record(n)
		}
		parts[0].merge(&parts[1])
		h.Snapshot(want)
		if got := parts[0].text(); got != histogramText(want) {
			t.Fatalf("got %s, want %s", got, histogramText(want))
		}
	})
}

// BenchmarkRecord records log-normal values, with many values and with 20 each.
func BenchmarkRecord(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 0))
	values := make([]int64, 1024)
	for i := range values {
		values[i] = int64(200e3 * math.Exp(r.NormFloat64()))
	}
	for _, each := range []int{20, 1 << 30} {
		b.Run(fmt.Sprint("values=", each), func(b *testing.B) {
			d, i := new(durations), 0
			for b.Loop() {
				if i%each == 0 {
					*d = durations{}
				}
				d.record(values[i&1023])
				i++
			}
		})
	}
}
