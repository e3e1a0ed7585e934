// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/wire"
)

func appendBinary(t testing.TB, s *Snapshot) []byte {
	t.Helper()
	text, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBinary: what is written is read back, also into a Compact, and in
// whatever way values came to be in a snapshot, the bytes are the same.
func TestBinary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 1))
	got := new(Snapshot)
	for i := range 3000 {
		l := randomLayout(r)
		values := randomValues(r, 1<<r.IntN(10))
		if r.IntN(8) == 0 {
			values = values[:r.IntN(len(values)+1)]
		}
		c := newCompact(t, l, values...)
		if r.IntN(4) == 0 { // a schema that is lower than need be
			coarse := l
			coarse.Schema = MinSchema + r.IntN(l.Schema-MinSchema+1)
			if err := c.Merge(snapshot(newHistogram(t, coarse, randomValues(r, 1)...))); err != nil {
				t.Fatal(err)
			}
		}
		want := compactSnapshot(c)
		text := appendBinary(t, want)
		rest, err := got.CutBinary(l, append(text, "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Fatalf("%d: rest %q, error %v", i, rest, err)
		}
		mustEqual(t, fmt.Sprint("layout ", i), got, want)

		back := newCompact(t, l)
		if err := back.Merge(got); err != nil {
			t.Fatal(err)
		}
		if again := appendBinary(t, compactSnapshot(back)); !bytes.Equal(again, text) {
			t.Fatalf("%d: written again: %x, first: %x", i, again, text)
		}
		more := randomValues(r, 10) // it goes on as the first would have
		for _, n := range more {
			c.Record(n)
			back.Record(n)
		}
		mustEqual(t, fmt.Sprint("layout ", i, " after more"), compactSnapshot(back), compactSnapshot(c))

		cut := r.IntN(len(text))
		if _, err := got.CutBinary(l, text[:cut]); err == nil {
			t.Fatalf("%d: %x is read in spite of its end at %d", i, text, cut)
		}
	}
}

func TestBinarySize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values, most int
	}{{0, 2}, {1, 12}, {2, 16}, {10, 33}, {100, 155}, {10_000, 330}} {
		h := newCompact(t, DefaultLayout(Nanosecond), logNormals(1, c.values, 0.5)...)
		if text := appendBinary(t, compactSnapshot(h)); len(text) > c.most {
			t.Errorf("%d values take %d bytes, want at most %d", c.values, len(text), c.most)
		}
	}
}

func TestBinaryErrors(t *testing.T) {
	t.Parallel()
	if _, err := new(Snapshot).AppendBinary(nil); err == nil {
		t.Error("a snapshot without layout is written")
	}
	l := DefaultLayout(Nanosecond)
	header := byte((l.Schema - MinSchema) << schemaShift)
	numbers := func(flags byte, numbers ...uint64) []byte {
		text := []byte{header | flags}
		for _, n := range numbers {
			text = wire.AppendUint(text, n)
		}
		return text
	}
	const e9 = 1_000_000_000
	two := e9 + e9/64 // in the bucket after that of e9
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"empty":              {nil, "too early"},
		"schema too high":    {[]byte{header + 1<<schemaShift, 0}, "at most 5"},
		"no schema":          {[]byte{0xff, 0x01, 0}, "at most 5"},
		"no zeros":           {numbers(hasZeros, 0, 0), "has none"},
		"no negatives":       {numbers(hasNegatives, 0, 0), "has none"},
		"largest too large":  {numbers(0, 2, math.MaxInt64-1, 3, 2), "too large"},
		"too wide":           {numbers(0, 1, math.MaxInt64-1, 3, 2), "buckets"},
		"not counted":        {numbers(0, 5, 0, 5, 0), "not those"},
		"first is empty":     {numbers(0, e9, uint64(two-e9), uint64(two), 3, 0, 2), "not those"},
		"beyond the last":    {numbers(0, e9, uint64(two-e9), e9+uint64(two), 2, 3, 0), "not those"},
		"sum too small":      {numbers(0, 5, 0, 4, 2), "sum"},
		"sum too large":      {numbers(0, 5, 0, 6, 2), "sum"},
		"sum of two":         {numbers(0, e9-5, uint64(two-e9+5), e9-5+uint64(two)+1, 2, 2), "sum"},
		"one value is two":   {numbers(0, e9-10, 1, e9-10, 2), "sum"},
		"too many":           {append(numbers(hasZeros, math.MaxUint64, 5, 0, 5), 2), "too many"},
		"count beyond 2^64":  {append(numbers(0, 5, 0, 5), wire.AppendUint128(nil, 2, 2)...), "not those"},
		"ends after the sum": {numbers(0, 5, 0, 5), "too early"},
	} {
		_, err := new(Snapshot).CutBinary(l, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := new(Snapshot).CutBinary(Layout{}, numbers(0, 0)); err == nil {
		t.Error("read with a layout that does not exist")
	}
}

// FuzzBinary: whatever is read is a snapshot, which is written as it was.
func FuzzBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, n := range []int{0, 1, 2, 3, 50} {
		f.Add(appendBinary(f, snapshot(newHistogram(f, DefaultLayout(Nanosecond), randomValues(r, n)...))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Snapshot
		l := DefaultLayout(Nanosecond)
		rest, err := s.CutBinary(l, text)
		if err != nil {
			return
		}
		if got := appendBinary(t, &s); !bytes.Equal(got, text[:len(text)-len(rest)]) {
			t.Fatalf("written %x, read from %x", got, text)
		}
		c := newCompact(t, l)
		if err := c.Merge(&s); err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "in a Compact", compactSnapshot(c), &s)
	})
}
