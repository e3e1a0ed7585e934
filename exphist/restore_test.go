// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// content returns what s holds, by the methods of its documentation.
func content(s *Snapshot) *Content {
	c := &Content{Layout: s.Layout(), Zeros: s.Zeros(), Negatives: s.Negatives(), Least: s.least, Most: s.Max()}
	c.SumHi, c.SumLo = s.Sum()
	c.First, c.Counts = s.Buckets()
	return c
}

func TestRestore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 1))
	got := new(Snapshot)
	for i := range 3000 {
		l := randomLayout(r)
		want := snapshot(newHistogram(t, l, randomValues(r, 1<<r.IntN(10))...))
		if r.IntN(4) == 0 { // a schema below what the values need
			coarse := want.layout
			coarse.Schema = MinSchema + r.IntN(want.layout.Schema-MinSchema+1)
			mustMerge(t, want, snapshot(newHistogram(t, coarse)))
		}
		if err := got.Restore(content(want)); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		clear(want.atMost)
		mustEqual(t, fmt.Sprint("layout ", i), got, want)
		if len(want.counts) > 0 {
			before := got.counts[0]
			want.counts[0]++
			if got.counts[0] != before {
				t.Fatal("the restored snapshot shares the counts")
			}
		}
	}
}

func TestRestoreErrors(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	const second = 1_000_000_000
	valid := content(snapshot(newHistogram(t, l, 0, second-10, second-10, second, second+second/40)))
	for name, c := range map[string]struct {
		want   string
		change func(c *Content)
	}{
		"schema too high":        {"Schema is 9", func(c *Content) { c.Layout.Schema = 9 }},
		"no buckets":             {"no buckets", func(c *Content) { c.Counts = nil }},
		"only a sum":             {"no buckets", func(c *Content) { *c = Content{Layout: l, SumLo: 1} }},
		"only a largest value":   {"no buckets", func(c *Content) { *c = Content{Layout: l, Most: 1} }},
		"too many buckets":       {"at most 5", func(c *Content) { c.Layout.MaxBuckets, c.Counts = 5, make([]uint64, 6) }},
		"first bucket":           {"smallest", func(c *Content) { c.First++ }},
		"a bucket less":          {"smallest", func(c *Content) { c.Counts = c.Counts[:1] }},
		"the first is empty":     {"smallest", func(c *Content) { c.Counts[0] = 0 }},
		"the last is empty":      {"smallest", func(c *Content) { c.Counts[len(c.Counts)-1] = 0 }},
		"smallest is negative":   {"smallest", func(c *Content) { c.Least = -5 }},
		"smallest above largest": {"smallest", func(c *Content) { c.Least = c.Most + 1 }},
		"sum of 2^64 more":       {"sum", func(c *Content) { c.SumHi++ }},
		"sum too small":          {"sum", func(c *Content) { c.SumLo -= 40 * second / 1000 }},
		"sum too large":          {"sum", func(c *Content) { c.SumLo += 40 * second / 1000 }},
		"too many values":        {"2^64", func(c *Content) { c.Zeros = math.MaxUint64 - 3 }},
		"one value is not two":   {"sum", func(c *Content) { *c = *content(snapshot(newHistogram(t, l, second-10))); c.Most++ }},
	} {
		changed := *valid
		changed.Counts = slices.Clone(valid.Counts)
		c.change(&changed)
		s := snapshot(newHistogram(t, l, 7))
		if err := s.Restore(&changed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
		if s.Count() != 0 || s.Max() != 0 {
			t.Errorf("%s: the snapshot is not empty after the error", name)
		}
	}
}
