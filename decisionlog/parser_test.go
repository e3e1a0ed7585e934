// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/regometer/regometer/rollup"
)

// What is remembered of keys, to guess which comes next, is bounded, whatever
// keys come in whatever order.
func TestKeysBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	r := NewReader(Options{Metric: func([]byte) int32 { return 0 }, Event: func(*Event) {}, Problem: func(Problem, int64) {}})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	before := heap()
	var line []byte
	for range 30_000 {
		line = append(line[:0], `{"decision_id":"1"`...)
		for range 10 {
			line = fmt.Appendf(line, `,"field%d":1`, rng.IntN(1000))
		}
		line = append(line, `,"metrics":{`...)
		for i := range 20 {
			kind := [...]string{"histogram_%d", "timer_%d_ns", "counter_%d"}[rng.IntN(3)]
			line = fmt.Appendf(line, `"`+kind+`":%d,`, rng.IntN(100_000), i)
		}
		line = append(bytes.TrimSuffix(line, []byte{','}), "}}\n"...)
		if n := r.Read(line); n != len(line) {
			t.Fatalf("read %d of %d bytes", n, len(line))
		}
	}
	if grown := heap() - before; grown > 20<<20 {
		t.Errorf("%d bytes", grown)
	}
	runtime.KeepAlive(r)
}

// Optional fields and metrics do not make the reader take one for another.
func TestOptionalFields(t *testing.T) {
	t.Parallel()
	var names []string
	var got, want []string
	r := NewReader(Options{
		Metric: func(key []byte) int32 {
			names = append(names, string(key))
			return int32(len(names) - 1)
		},
		Event: func(e *Event) {
			text := fmt.Sprintf("%s %s %s %v", e.DecisionID, e.Path, e.RequestedBy, e.Outcome)
			for _, m := range e.Measures {
				text += fmt.Sprintf(" %s=%d", names[m.Metric], m.Value)
			}
			got = append(got, text)
		},
		Problem: func(p Problem, line int64) { t.Errorf("line %d: %s", line, p) },
	})
	rng := rand.New(rand.NewPCG(3, 4))
	var text []byte
	for i := range 2000 {
		client, outcome, metrics := "", rollup.Undefined, " counter_a=1"
		text = fmt.Appendf(text, `{"decision_id":"%d"`, i)
		if rng.IntN(3) == 0 {
			text = append(text, `,"trace_id":"t"`...)
		}
		text = append(text, `,"path":"p","input":{"path":"no"}`...)
		if rng.IntN(2) == 0 {
			text, outcome = append(text, `,"result":true`...), rollup.Allowed
		}
		if rng.IntN(3) == 0 {
			text, client = append(text, `,"requested_by":"c"`...), "c"
		}
		text = append(text, `,"metrics":{"counter_a":1`...)
		for _, key := range []string{"timer_b_ns", "histogram_h", "timer_c_ns", "timer_d_ns"} {
			if rng.IntN(3) > 0 {
				continue
			}
			text = fmt.Appendf(text, `,"%s":%d`, key, i)
			if key != "histogram_h" {
				metrics += fmt.Sprintf(" %s=%d", key, i)
			}
		}
		text = append(text, "}}\n"...)
		want = append(want, fmt.Sprintf("%d p %s %v", i, client, outcome)+metrics)
	}
	if n := r.Read(text); n != len(text) {
		t.Fatalf("read %d of %d bytes", n, len(text))
	}
	if len(got) != len(want) {
		t.Fatalf("got %d events, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("event %d: got %s, want %s", i, got[i], want[i])
		}
	}
}

// A key that goes over the end of a line, before its colon, is none of a
// line's.
func TestKeyOverLines(t *testing.T) {
	t.Parallel()
	got := readAll(strings.Repeat("{\"decision_id\":\"a\",\"path\"\n:\"p\",\"metrics\":{\"timer_a_ns\"\n:1}}\n", 3))
	if len(got.Events) != 3 || got.Events[2].Line != 7 || got.Lines != 9 || len(got.Problems) > 0 {
		t.Errorf("%+v", got)
	}
}
