// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	bounds := func(values ...int64) error {
		l := Layout{Unit: Nanosecond}.complete()
		l.Bounds = values
		return l.Validate()
	}
	const second = 1_000_000_000
	l := Layout{Unit: Nanosecond}.complete()
	valid := content(snapshot(newHistogram(l, 0, second-10, second-10, second, second+second/40)))
	restore := func(change func(c *Content)) error {
		c := *valid
		c.Counts = slices.Clone(c.Counts)
		change(&c)
		s := snapshot(newHistogram(l, 7))
		err := s.Restore(&c)
		if s.Count() != 0 || s.Max() != 0 {
			t.Error("after an error, the snapshot must be empty")
		}
		return err
	}
	if err := bounds(slices.Collect(func(yield func(int64) bool) {
		for i := range int64(100) {
			yield(i + 1)
		}
	})...); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"bound 0":               {bounds(0), "Bounds[0] is 0:"},
		"negative bound":        {bounds(1, 2, -3), "Bounds[2] is -3:"},
		"equal bounds":          {bounds(5, 7, 7), "Bounds[2] is 7, after 7:"},
		"101 bounds":            {bounds(make([]int64, 101)...), "there are 101 Bounds:"},
		"unknown unit":          {Layout{Unit: units, Schema: 5, MaxBuckets: 640}.Validate(), "Unit is 4"},
		"schema 9":              {Layout{Schema: 9, MaxBuckets: 640}.Validate(), "Schema is 9"},
		"restored zero value":   {restore(func(c *Content) { *c = Content{} }), "MaxBuckets is 0"},
		"restored schema":       {restore(func(c *Content) { c.Layout.Schema = 9 }), "Schema is 9"},
		"no buckets":            {restore(func(c *Content) { c.Counts = nil }), "no buckets"},
		"only a sum":            {restore(func(c *Content) { *c = Content{Layout: l, SumLo: 1} }), "no buckets"},
		"too many buckets":      {restore(func(c *Content) { c.Layout.MaxBuckets, c.Counts = 5, make([]uint64, 6) }), "at most 5"},
		"first bucket":          {restore(func(c *Content) { c.First++ }), "smallest"},
		"a bucket less":         {restore(func(c *Content) { c.Counts = c.Counts[:1] }), "smallest"},
		"last is empty":         {restore(func(c *Content) { c.Counts[len(c.Counts)-1] = 0 }), "smallest"},
		"negative minimum":      {restore(func(c *Content) { c.Least = -5 }), "smallest"},
		"minimum above maximum": {restore(func(c *Content) { c.Least = c.Most + 1 }), "smallest"},
		"sum of 2^64 more":      {restore(func(c *Content) { c.SumHi++ }), "sum"},
		"sum too small":         {restore(func(c *Content) { c.SumLo -= second / 25 }), "sum"},
		"sum too large":         {restore(func(c *Content) { c.SumLo += second / 25 }), "sum"},
		"too many values":       {restore(func(c *Content) { c.Zeros = math.MaxUint64 - 3 }), "2^64"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, test.err, test.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("New of an invalid layout does not panic")
		}
	}()
	New(Layout{Schema: 1})
}
