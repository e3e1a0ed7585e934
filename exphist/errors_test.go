// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func newBounds(t testing.TB, values ...int64) *Bounds {
	t.Helper()
	b, err := NewBounds(values...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestErrors(t *testing.T) {
	t.Parallel()
	bounds := func(values ...int64) error {
		_, err := NewBounds(values...)
		return err
	}
	layout := func(l Layout) error {
		_, err := NewLayout(l)
		return err
	}
	const second = 1_000_000_000
	l := DefaultLayout(Nanosecond)
	valid := content(snapshot(newHistogram(t, l, 0, second-10, second-10, second, second+second/40)))
	restore := func(change func(c *Content)) error {
		c := *valid
		c.Counts = slices.Clone(c.Counts)
		change(&c)
		s := snapshot(newHistogram(t, l, 7))
		err := s.Restore(&c)
		if s.Count() != 0 || s.Max() != 0 {
			t.Error("after an error, the snapshot must be empty")
		}
		return err
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"bound 0":               {bounds(0), "values[0] is 0:"},
		"negative bound":        {bounds(1, 2, -3), "values[2] is -3:"},
		"equal bounds":          {bounds(5, 7, 7), "values[2] is 7, after 7:"},
		"falling bounds":        {bounds(5, 4, 7), "values[1] is 4, after 5:"},
		"101 bounds":            {bounds(make([]int64, 101)...), "there are 101 bounds:"},
		"unknown unit":          {layout(Layout{Unit: units, Schema: 5, MaxBuckets: 640}), "Unit is 4"},
		"schema 9":              {layout(Layout{Schema: 9, MaxBuckets: 640}), "Schema is 9"},
		"schema -5":             {layout(Layout{Schema: -5, MaxBuckets: 640}), "Schema is -5"},
		"4 buckets":             {layout(Layout{Schema: 5, MaxBuckets: 4}), "MaxBuckets is 4"},
		"the zero value":        {layout(Layout{}), "MaxBuckets is 0"},
		"restored schema":       {restore(func(c *Content) { c.Layout.Schema = 9 }), "Schema is 9"},
		"no buckets":            {restore(func(c *Content) { c.Counts = nil }), "no buckets"},
		"only a sum":            {restore(func(c *Content) { *c = Content{Layout: l, SumLo: 1} }), "no buckets"},
		"only a maximum":        {restore(func(c *Content) { *c = Content{Layout: l, Most: 1} }), "no buckets"},
		"too many buckets":      {restore(func(c *Content) { c.Layout.MaxBuckets, c.Counts = 5, make([]uint64, 6) }), "at most 5"},
		"first bucket":          {restore(func(c *Content) { c.First++ }), "smallest"},
		"a bucket less":         {restore(func(c *Content) { c.Counts = c.Counts[:1] }), "smallest"},
		"first is empty":        {restore(func(c *Content) { c.Counts[0] = 0 }), "smallest"},
		"last is empty":         {restore(func(c *Content) { c.Counts[len(c.Counts)-1] = 0 }), "smallest"},
		"negative minimum":      {restore(func(c *Content) { c.Least = -5 }), "smallest"},
		"minimum above maximum": {restore(func(c *Content) { c.Least = c.Most + 1 }), "smallest"},
		"sum of 2^64 more":      {restore(func(c *Content) { c.SumHi++ }), "sum"},
		"sum too small":         {restore(func(c *Content) { c.SumLo -= second / 25 }), "sum"},
		"sum too large":         {restore(func(c *Content) { c.SumLo += second / 25 }), "sum"},
		"too many values":       {restore(func(c *Content) { c.Zeros = math.MaxUint64 - 3 }), "2^64"},
		"one value of two":      {restore(func(c *Content) { *c = *content(snapshot(newHistogram(t, l, second-10))); c.Most++ }), "sum"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, test.err, test.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("New(Unit(9)) does not panic")
		}
	}()
	New(Unit(9))
}

func TestBounds(t *testing.T) {
	t.Parallel()
	values := []int64{1, 10, 1e18, math.MaxInt64}
	b := newBounds(t, values...)
	values[0] = 2
	if got, want := b.String(), "1, 10, 1000000000000000000, 9223372036854775807"; got != want || b.Len() != 4 || b.At(0) != 1 {
		t.Errorf("bounds %s, want %s", got, want)
	}
	if text := (*Bounds)(nil).String(); text != "none" {
		t.Errorf("no bounds: %q", text)
	}
	most := make([]int64, MaxBounds)
	for i := range most {
		most[i] = int64(1 + i)
	}
	newBounds(t, most...)

	different := []*Bounds{nil, newBounds(t, 1), newBounds(t, 2), newBounds(t, 1, 2), newBounds(t, 1, 3)}
	for i, a := range different {
		same := newBounds(t, a.list()...)
		for j, b := range different {
			if b.Equal(same) != (i == j) || same.Equal(b) != (i == j) {
				t.Errorf("[%v].Equal([%v]) is %t", b, same, b.Equal(same))
			}
		}
	}
}

func TestRelativeError(t *testing.T) {
	t.Parallel()
	for schema, want := range map[int]string{8: "0.00135", 5: "0.01083", 0: "0.33333", -4: "0.99997"} {
		if got := fmt.Sprintf("%.5f", Layout{Schema: schema}.RelativeError()); got != want {
			t.Errorf("schema %d: %s, want %s", schema, got, want)
		}
	}
}
