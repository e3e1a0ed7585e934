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

// randomValues returns up to n values of one of several kinds.
func randomValues(r *rand.Rand, n int) []int64 {
	values, kind := make([]int64, r.IntN(n+1)), r.IntN(5)
	for i := range values {
		values[i] = max(1, [...]int64{
			int64(200e3 * math.Exp(r.NormFloat64())),         // latencies
			int64(r.Uint64() >> (1 + r.IntN(63))),            // all sizes
			math.MaxInt64 - int64(r.Uint64()>>1>>r.IntN(10)), // wide buckets
			1_000_000 + int64(r.IntN(1000)),                  // one bucket
			[]int64{1, math.MaxUint32 - 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64 - 1, math.MaxInt64}[r.IntN(6)],
		}[kind])
	}
	return values
}

// many is a count with the digits 1, 0 and 0.
var many = slices.Repeat([]int64{1}, 1<<16)

// checkDurations records, merges and restores durations at random. After each
// operation, all of them must hold what histograms hold: those that an
// operation only read have not changed, and no two share memory.
func checkDurations(t *testing.T, r *rand.Rand, extra ...int64) {
	t.Helper()
	var all [3]durations
	var want [3]exphist.Snapshot
	merge := func(into int, from *exphist.Snapshot) {
		if err := want[into].Merge(from); err != nil {
			t.Fatal(err)
		}
	}
	for range 1 + r.IntN(30) {
		i, j := r.IntN(len(all)), r.IntN(len(all))
		switch r.IntN(5) {
		case 0:
			for range 1 + r.IntN(8) {
				if i != j && want[i].Count()+want[j].Count() < 1<<60 { // counts of up to eight digits
					all[i].merge(&all[j])
					merge(i, &want[j])
					i, j = j, i
				}
			}
		case 1:
			restored, s := durations{}, want[j]
			restored.restore(&s)
			all[i], want[i] = restored, exphist.Snapshot{}
			merge(i, &s)
		default:
			values := [][]int64{randomValues(r, 1<<r.IntN(12)), {1 + int64(r.IntN(1e6))}, many}[max(r.IntN(8)-5, 0)]
			h, s := exphist.New(Layout), new(exphist.Snapshot)
			for _, n := range slices.Concat(values, extra) {
				all[i].record(n)
				h.Record(n)
			}
			h.Snapshot(s)
			merge(i, s)
		}
		for k := range all {
			if got, w := all[k].text(), histogramText(&want[k]); want[k].Count() > 0 && got != w {
				t.Fatalf("got\n%s, want\n%s", got, w)
			}
		}
	}
}

func FuzzDurations(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed, []byte{})
	}
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
