// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What a reader remembers is bounded, whatever comes in whatever order: keys,
// metrics, and what waits for more.
func TestBounds(t *testing.T) {
	t.Parallel()
	const maxLength = 2 << 20
	r := NewReader(Options{Metric: func([]byte) int32 { return 0 }, Event: func(*Event) {}, Problem: func(Problem, int64) {}, MaxLength: maxLength})
	most := func(what string, got, want int) {
		if got > want {
			t.Fatalf("%d %s, want at most %d", got, what, want)
		}
	}
	rolls(t, 12, 0, func(rng *rand.Rand) bool {
		line := []byte(`{"decision_id":"1"`)
		for range 100 {
			line = fmt.Appendf(line, `,"field%d":1`, rng.IntN(1000))
		}
		line = append(line, `,"metrics":{"x":1`...)
		kind := oneOf(rng, "histogram_%d", "timer_%d_ns", "counter_%d")
		for i := range 3 * mostMetrics {
			line = fmt.Appendf(line, `,"`+kind+`":%d`, rng.IntN(1_000_000), i)
		}
		r.Read(append(line, "}}\n"...))
		p := &r.finder.parsers[0]
		most("keys", len(p.keys.byName), mostKeys)
		most("metrics", len(p.metrics.keys.byName), 2*mostMetrics)
		return true
	})
	many := []byte(`{"pod":"x"`)
	for i := range 20_000 {
		many = fmt.Appendf(many, `,"key%d":"{\"a\":"`, i)
	}
	r.Read(append(many, "}\n"...))
	most("streams of one line", len(r.finder.waiting), maxWaiting)
	r.Reset()
	long := strings.Repeat("x", maxLength/16)
	for i := range 2 * patience {
		r.Read(fmt.Appendf(nil, "[pod/%d/opa] {\n[pod/%d/opa] \"x\":\"%s\",\n", i, i, long))
		most("streams", len(r.finder.waiting), patience+2)
		pending := 0
		for _, s := range r.finder.waiting {
			pending += len(s.backlog.text)
		}
		most("bytes that wait", pending, maxLength+2*len(long))
	}
}

// Lines of which each may begin a field of CSV that goes on in all others are
// not read again and again.
func TestLinesLikeCSV(t *testing.T) {
	text := bytes.Repeat([]byte("x,\"{\"\"a\n"), 5_000)
	if allocs := testing.AllocsPerRun(1, func() { NewReader(new(collector).options()).Close(text) }); allocs > 15_000 {
		t.Errorf("%v allocations for %d lines", allocs, 5_000)
	}
}

// A file with many keys does not keep a reader from knowing those of the next.
func TestResetForgets(t *testing.T) {
	t.Parallel()
	r := NewReader(new(collector).options())
	for i := range 2 * mostKeys {
		r.Read(fmt.Appendf(nil, "{\"key%d\":1}\n", i))
	}
	r.Reset()
	r.Read([]byte(event1 + "\n"))
	if g := r.finder.parsers[0].keys.start.next[0]; g.text == "" || g.key.field != fieldLabels {
		t.Errorf("%+v", g)
	}
}

// Optional fields and metrics do not make the reader take one for another.
func TestOptionalFields(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var want result
	rolls(t, 3000, 3000, func(r *rand.Rand) bool {
		line := usualEvent(r)
		text.WriteString(line)
		alone := readAll(line)
		alone.Events[0].Line += want.Lines
		want.Events, want.Problems, want.Lines = append(want.Events, alone.Events...), append(want.Problems, kinds(alone.Problems)...), want.Lines+1
		return len(alone.Events) == 1
	})
	got := readAll(text.String())
	got.Problems, want.Problems = kinds(got.Problems), kinds(want.Problems)
	if at := slices.IndexFunc(got.Events, func(e read) bool { return !reflect.DeepEqual(e, want.Events[e.Line-1]) }); at >= 0 || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d events, want %d; got  %+v\nwant %+v", len(got.Events), len(want.Events), got.Events[max(at, 0)], want.Events[max(at, 0)])
	}
}
