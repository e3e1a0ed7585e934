// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/wire"
	"github.com/regometer/regometer/rollup"
)

var _ encoding.BinaryAppender = (*rollup.Groups)(nil)

func groupsBinary(t testing.TB, g *rollup.Groups) []byte {
	t.Helper()
	text, err := g.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readGroups(t testing.TB, text []byte) *rollup.Groups {
	t.Helper()
	g, err := rollup.ReadGroups(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGroupsBinary: parts that were written and read back are as good as the
// parts themselves, and in whatever order they are merged, what comes to be is
// what all decisions come to, and is written as that, byte for byte.
func TestGroupsBinary(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		w := newWorld(1000 + seed)
		o := w.groupOptions()
		events := w.events(w.IntN(1 << w.IntN(10)))
		whole := newGroups(t, o)
		parts := make([]*rollup.Groups, 1+w.IntN(4))
		for i := range parts {
			parts[i] = newGroups(t, o)
		}
		for _, e := range events {
			addEvent(whole, e)
			addEvent(parts[w.IntN(len(parts))], e)
		}
		want := groupsBinary(t, whole)
		if back := readGroups(t, want); dump(back) != dump(whole) {
			t.Fatalf("seed %d: read\n%s\nwritten\n%s", seed, dump(back), dump(whole))
		}
		for i, p := range parts {
			text := groupsBinary(t, p)
			parts[i] = readGroups(t, text)
			if again := groupsBinary(t, parts[i]); !bytes.Equal(again, text) {
				t.Fatalf("seed %d: part %d is written otherwise after it was read", seed, i)
			}
		}
		w.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for len(parts) > 1 {
			last := len(parts) - 1
			if err := parts[last-1].Merge(parts[last]); err != nil {
				t.Fatal(err)
			}
			parts = parts[:last]
			if w.IntN(2) == 0 {
				parts[last-1] = readGroups(t, groupsBinary(t, parts[last-1]))
			}
		}
		if dump(parts[0]) != dump(whole) || !bytes.Equal(groupsBinary(t, parts[0]), want) {
			t.Fatalf("seed %d: merged\n%s\nwhole\n%s", seed, dump(parts[0]), dump(whole))
		}
		more := w.events(20) // it goes on as the first would have
		for _, e := range more {
			addEvent(parts[0], e)
			addEvent(whole, e)
		}
		if dump(parts[0]) != dump(whole) {
			t.Fatalf("seed %d: with more\n%s\nwhole\n%s", seed, dump(parts[0]), dump(whole))
		}
	}
}

// TestGroupsBinaryDamaged: whatever is changed or missing, reading is an error
// or gives groups that can be used.
func TestGroupsBinaryDamaged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		w := newWorld(2000 + seed)
		g := newGroups(t, w.groupOptions())
		for _, e := range w.events(100) {
			addEvent(g, e)
		}
		text := groupsBinary(t, g)
		for n := 0; n < len(text); n += 1 + w.IntN(1+len(text)/500) {
			if _, err := rollup.ReadGroups(text[:n]); err == nil {
				t.Fatalf("seed %d: the first %d of %d bytes are read", seed, n, len(text))
			}
		}
		if _, err := rollup.ReadGroups(append(bytes.Clone(text), 0)); err == nil {
			t.Fatalf("seed %d: a byte more is no error", seed)
		}
		for range 500 {
			damaged := bytes.Clone(text)
			for range 1 + w.IntN(3) {
				damaged[w.IntN(len(damaged))] = byte(w.IntN(256))
			}
			useRead(t, damaged)
		}
	}
}

// useRead reads groups, and if that succeeds does with them all that can be
// done.
func useRead(t *testing.T, text []byte) {
	t.Helper()
	g, err := rollup.ReadGroups(text)
	if err != nil {
		return
	}
	once := groupsBinary(t, g)
	again := readGroups(t, once)
	if !bytes.Equal(groupsBinary(t, again), once) || dump(again) != dump(g) {
		t.Fatalf("written %x, and after it was read %x", once, groupsBinary(t, again))
	}
	g.Total()
	addEvent(g, event{key: "a", time: 1, numbers: []rollup.Number{{Key: "timer_x_ns", Value: 7}}})
	if err := g.Merge(again); err != nil {
		t.Fatal(err)
	}
	dump(g)
}

func TestReadGroupsErrors(t *testing.T) {
	t.Parallel()
	numbers := func(numbers ...uint64) []byte {
		var text []byte
		for _, n := range numbers {
			text = wire.AppendUint(text, n)
		}
		return text
	}
	// What is before the slices: limits, no stages, no counters, no doublings.
	head := numbers(2, 1, 60e9, 240, 8192, 0, 0, 0)
	// One slice, no overflow, a stage "x", no counter, no code.
	names := append(numbers(1, 0, 0, 0, 0, 1, 1), append([]byte("x"), numbers(0, 0)...)...)
	group := numbers(0, 1, 0, 1, 1, 0, 0)
	with := func(parts ...any) []byte {
		text := bytes.Clone(head)
		for _, p := range parts {
			switch p := p.(type) {
			case []byte:
				text = append(text, p...)
			case string:
				text = wire.AppendString(text, p)
			case int:
				text = wire.AppendUint(text, uint64(p))
			}
		}
		return text
	}
	if _, err := rollup.ReadGroups(with(names, 0, 0, 2, 0, "a", group, 1, "b", group)); err != nil {
		t.Fatal("what is to be right, but for what is wrong in each case:", err)
	}
	long := strings.Repeat("k", 1000)
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"empty":               {nil, "too early"},
		"limits":              {numbers(1<<31, 1, 1, 1, 1), "at most 1073741824"},
		"stages":              {numbers(1, 1, 1, 1, 1, 1001), "at most 1000"},
		"a stage":             {append(numbers(1, 1, 1, 1, 1, 1, 1), " \x00\x00\x00"...), "cannot be a name"},
		"doublings":           {numbers(1, 1, 1<<62, 1, 1, 0, 0, 1), "doubled 1 times"},
		"slices without end":  {with(math.MaxInt32), "too early"},
		"slice out of range":  {with(1, -1 /* 2^64−1: −2^63 */), "not within"},
		"names out of order":  {with(0, 0, 0, 0, 2, "b", "a"), "not in order"},
		"a name twice":        {with(0, 0, 0, 0, 2, "a", "a"), "not in order"},
		"a name of no UTF-8":  {with(0, 0, 0, 0, 1, "\xff"), "not valid"},
		"an empty name":       {with(0, 0, 0, 0, 1, "", "more"), "not valid"},
		"a long name":         {with(0, 0, 0, 0, 1, long+long), "at most 1024"},
		"names beyond limits": {with(0, 0, 0, 0, 2, "a", "b"), "limits allow"},
		"groups beyond limit": {with(names, 0, 0, 3, 0, "a", group, 0, "b", group, 0, "c", group), "limits allow"},
		"groups out of order": {with(names, 0, 0, 2, 0, "b", group, 0, "a", group), "not in order"},
		"group other":         {with(names, 0, 0, 1, 0, "other", group), "not valid"},
		"group of no UTF-8":   {with(names, 0, 0, 1, 0, "\xff", group), "not valid"},
		"a long key":          {with(names, 0, 0, 2, 0, long, group, 1000, long, group), "not valid"},
		"shared too much":     {with(names, 0, 0, 2, 0, "a", group, 2, "b", group), "at most 1"},
		"no decisions":        {with(names, 0, 0, 1, 0, "a", 0, 0, numbers(0, 0, 0, 0, 0, 0)), "no decisions"},
		"an outcome of none":  {with(names, 0, 0, 1, 0, "a", numbers(0, 1, 0, 1, 0, 0, 0)), "outcome without decisions"},
		"an empty slice":      {with(names, 0, 0, 1, 0, "a", 0, 1, 0, 0, 0, 0, 0, 0, 0), "without decisions"},
		"no such slice":       {with(names, 0, 0, 1, 0, "a", 0, 1, 2, 1, 1, 0, 0, 0), "at most 1"},
		"no such outcome":     {with(names, 0, 0, 1, 0, "a", 0, 1, 0, 64, 1, 0, 0, 0), "at most 63"},
		"no such code":        {with(names, 0, 0, 1, 0, "a", 1, 0, 1, 1, 0, 1, 1, 0, 0), "stands for nothing"},
		"no such counter":     {with(names, 0, 0, 1, 0, "a", 0, 1, 0, 1, 1, 0, 1, 0, 1), "stands for nothing"},
		"no such stage":       {with(names, 0, 0, 1, 0, "a", 0, 1, 0, 1, 1, 2, 0, 36, 0, 0, 0, 0, 36, 0, 0, 0, 0), "stands for nothing"},
		"covered too long":    {with(names, 0, 0, 1, 0, "a", 0, 1, 0, 1, 1, 1, 0, 36, 5, 0, 5, 2, 6, 0, 0), "took longer"},
		"a histogram":         {with(names, 0, 0, 1, 0, "a", 0, 1, 0, 1, 1, 1, 0, 36, 5, 0, 6, 2, 0, 0, 0), "sum"},
		"more":                {with(names, 0, 0, 0, 7), "1 bytes more"},
	} {
		_, err := rollup.ReadGroups(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}

	// Two slices where one is allowed are made one.
	limited := numbers(2, 1, 60e9, 1, 8192, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0)
	if g := readGroups(t, limited); g.Width() != 120e9 {
		t.Errorf("slices are %d wide", g.Width())
	}

	many := rollup.GroupOptions{}
	for i := range 1001 {
		many.Counters = append(many.Counters, fmt.Sprint("c", i))
	}
	if _, err := newGroups(t, many).AppendBinary(nil); err == nil {
		t.Error("groups are written that cannot be read")
	}
}

// A file of Groups with other options is read with these, and cannot be merged
// into what has others.
func TestGroupsBinaryKeepsOptions(t *testing.T) {
	t.Parallel()
	o := rollup.GroupOptions{
		Limits:   rollup.GroupLimits{Groups: 3, Names: 4, Width: 5, Slices: 6, Cells: 7},
		Stages:   []rollup.Stage{{Name: "x", Parent: "rego_query_eval", Help: "what x is"}},
		Counters: []string{"y"},
	}
	back := func() *rollup.Groups { return readGroups(t, groupsBinary(t, newGroups(t, o))) }
	if err := newGroups(t, o).Merge(back()); err != nil {
		t.Error(err)
	}
	for _, change := range []func(o *rollup.GroupOptions){
		func(o *rollup.GroupOptions) { o.Limits.Groups++ },
		func(o *rollup.GroupOptions) { o.Limits.Names++ },
		func(o *rollup.GroupOptions) { o.Limits.Width++ },
		func(o *rollup.GroupOptions) { o.Limits.Slices++ },
		func(o *rollup.GroupOptions) { o.Limits.Cells++ },
		func(o *rollup.GroupOptions) { o.Stages = []rollup.Stage{{Name: "x", Parent: "rego_query_eval"}} },
		func(o *rollup.GroupOptions) { o.Counters = nil },
	} {
		other := o
		change(&other)
		if err := newGroups(t, other).Merge(back()); err == nil {
			t.Errorf("groups with the options %+v take in those with %+v", other, o)
		}
	}
}

func FuzzReadGroups(f *testing.F) {
	for seed := range uint64(5) {
		w := newWorld(3000 + seed)
		g := newGroups(f, w.groupOptions())
		for _, e := range w.events(int(seed) * 10) {
			addEvent(g, e)
		}
		f.Add(groupsBinary(f, g))
	}
	f.Fuzz(useRead)
}
