// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/regometer/regometer/exphist"
)

// snapshotOf returns a snapshot of these values, with the schema if it is lower
// than the default one.
func snapshotOf(t testing.TB, schema int, values ...int64) *exphist.Snapshot {
	t.Helper()
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond, Schema: min(5, schema), MaxBuckets: 640})
	for _, v := range values {
		h.Record(v)
	}
	var s exphist.Snapshot
	h.Snapshot(&s)
	return &s
}

// merged returns what snapshots come to.
func merged(t testing.TB, all ...*exphist.Snapshot) *exphist.Snapshot {
	t.Helper()
	var m exphist.Snapshot
	for _, s := range all {
		if err := m.Merge(s); err != nil {
			t.Fatal(err)
		}
	}
	return &m
}

// TestBlocks: quantiles and shares are those of the histogram, within a bucket,
// also where slices have different schemas.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var all []*exphist.Snapshot
		for range 1 + rng.IntN(20) {
			values := make([]int64, 1+rng.IntN(100))
			for i := range values {
				values[i] = int64(math.Exp(12 + 2*rng.NormFloat64()))
				if rng.IntN(50) == 0 {
					values[i] = 0
				}
			}
			all = append(all, snapshotOf(t, rng.IntN(7)-1, values...))
		}
		m := merged(t, all...)
		x := NewQuantiles(all, all)
		b := x.before
		if b.count() != float64(m.Count()) || b.total[0] != float64(m.Zeros()) {
			t.Fatalf("round %d: %v durations, %v zeros, want %d, %d", round, b.count(), b.total[0], m.Count(), m.Zeros())
		}
		for _, q := range []float64{0.05, 0.5, 0.9, 0.99} {
			u := b.quantile(q)
			if share := b.above(u); math.Abs(share-(1-q)) > 1e-9 && u > 0 {
				t.Errorf("round %d: above the %v-quantile is a share of %v", round, q, share)
			}
			got, want := x.value(u), m.Quantile(q)
			if want > 0 && math.Abs(math.Log(got/want)) > x.step*1.01 {
				t.Errorf("round %d: %v-quantile %v, want %v, step %v", round, q, got, want, x.step)
			}
		}
	}
}

// TestLongRunVariance: it is n times the variance of independent terms, and
// (1+φ)/(1−φ) times as much for an AR(1) series.
func TestLongRunVariance(t *testing.T) {
	const n, rounds = 240, 2000
	w := waves(n)
	for phi, near := range map[float64]float64{0: 0.08, 0.5: 0.08, -0.3: 0.08, 0.9: 0.4} {
		rng := rand.New(rand.NewPCG(3, 4))
		mean := 0.0
		for range rounds {
			terms := make([]Count, n)
			last, sum := rng.NormFloat64()/math.Sqrt(1-phi*phi), 0.0
			for i := range terms {
				last = phi*last + rng.NormFloat64()
				terms[i].Has = last
				sum += last
			}
			for i := range terms {
				terms[i].N = 1
			}
			mean += longRunVariance(terms, sum/n, w, memoryOf(terms, sum/n)) / rounds
		}
		if want := n / ((1 - phi) * (1 - phi)); math.Abs(mean/want-1) > near {
			t.Errorf("φ = %v: %v, want %v", phi, mean, want)
		}
	}
}
