// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"math/rand/v2"
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
		most("keys", len(p.lines.known), mostKeys)
		most("metrics", len(p.metrics.lines.known), 2*mostMetrics)
		return true
	})
	many := []byte(`{"pod":"x"`)
	for i := range 20_000 {
		many = fmt.Appendf(many, `,"key%d":"{\"a\":"`, i)
	}
	r.Read(append(many, "}\n"...))
	most("streams of one line", len(r.finder.waiting), maxWaiting)
	r.Reset()
	r.Read([]byte(event1 + "\n"))
	if l := &r.finder.parsers[0].lines; l.keys[l.lines[0][lineNext]].field != fieldLabels {
		t.Errorf("keys of the last file keep those of this one from being known: %+v", l.keys)
	}
	long := strings.Repeat("x", maxLength/16)
	for i := range 2 * patience {
		r.Read(fmt.Appendf(nil, "[pod/%d/opa] {\n[pod/%d/opa] \"x\":\"%s\",\n", i, i, long))
		most("streams", len(r.finder.waiting), patience+2)
		pending := 0
		for _, s := range r.finder.waiting {
			pending += len(s.backlog)
		}
		most("bytes that wait", pending, maxLength+2*len(long))
	}
}
