// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/regometer/regometer/exphist"
)

func (d *durations) text() string {
	var s exphist.Snapshot
	var c exphist.Content
	d.read(&c)
	if err := s.Restore(&c); err != nil {
		return err.Error()
	}
	return histogramText(&s)
}

// newHistogram returns an empty histogram of Layout.
func newHistogram() *exphist.Histogram {
	h, err := exphist.NewLayout(Layout)
	if err != nil {
		panic(err)
	}
	return h
}

// snapshotOfAll returns what a histogram holds after all values.
func snapshotOfAll(values ...int64) *exphist.Snapshot {
	h, s := newHistogram(), new(exphist.Snapshot)
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

// checkDurations records, merges and restores durations at random. After each
// operation, all of them must hold what histograms hold: those that an
// operation only read have not changed, and no two share memory.
func checkDurations(t *testing.T, r *rand.Rand, extra ...int64) {
	t.Helper()
	var all [3]*durations
	var want [3]*exphist.Snapshot
	for i := range all {
		all[i], want[i] = new(durations), new(exphist.Snapshot)
	}
	merge := func(into, from *exphist.Snapshot) {
		if err := into.Merge(from); err != nil {
			t.Fatal(err)
		}
	}
	for range 1 + r.IntN(30) {
		i, j := r.IntN(len(all)), r.IntN(len(all))
		switch r.IntN(5) {
		default:
			values := append(randomValues(r, 1<<r.IntN(12)), extra...)
			for _, n := range values {
				all[i].record(n)
			}
			merge(want[i], snapshotOfAll(values...))
		case 0:
			for range 1 + r.IntN(8) {
				if i != j && want[i].Count()+want[j].Count() < 1<<60 { // counts of up to eight digits
					all[i].merge(all[j])
					merge(want[i], want[j])
					i, j = j, i
				}
			}
		case 1:
			all[i], want[i] = new(durations), new(exphist.Snapshot)
			all[i].restore(want[j])
			merge(want[i], want[j])
		case 2: // few values, which may fill their memory
			n := 1 + int64(r.IntN(1e6))
			all[i].record(n)
			merge(want[i], snapshotOfAll(n))
		}
		for k, d := range all {
			if got, w := d.text(), histogramText(want[k]); want[k].Count() > 0 && got != w {
				t.Fatalf("got\n%s, want\n%s", got, w)
			}
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		checkDurations(t, rand.New(rand.NewPCG(3, seed)))
	}
}

func FuzzDurations(f *testing.F) {
	f.Add(uint64(1), []byte("some values"))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		var values []int64
		for _, b := range data {
			values = append(values, max(int64(b)<<r.IntN(64), 1))
		}
		checkDurations(t, r, values...)
	})
}

// TestDurationsMemory measures the memory of durations with log-normal values.
// It does not run in parallel with others, whose memory it would measure.
func TestDurationsMemory(t *testing.T) {
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
			before := liveBytes()
			for i := range all {
				for _, n := range values {
					all[i].record(n)
				}
			}
			least = min(least, int(unsafe.Sizeof(all[0]))+int(int64(liveBytes())-int64(before))/len(all))
			runtime.KeepAlive(all)
		}
		t.Log(fmt.Sprint(test.values, " values: ", least, " bytes"))
		if least > test.most {
			t.Errorf("%d values take %d bytes, at most %d are expected", test.values, least, test.most)
		}
	}
}
