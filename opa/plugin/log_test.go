// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// A batch that is used again keeps no decisions, no long texts, and no labels
// of an old policy. A new policy's labels get the room of the former ones.
func TestReusedBatch(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	c, err := NewLogCounter(registry, []byte(`{"max_paths": 1}`), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.SetPolicy(compile(t, "package old\nq := input.q"))
	b := c.NewBatch()
	add := func(n int, path string) {
		for range n {
			b.Add(rollup.Decision{Path: path, Outcome: outcome.Allowed, Numbers: []rollup.Number{{Key: "timer_x_ns", Value: 1}}})
		}
	}
	add(mostPending+1000, "someone@example.com")
	add(1, "old/q")
	add(1, outcome.Query)
	add(1, outcome.AllData)
	b.Count()
	add(3, "someone@example.com")
	kept := b.pending[:3]
	b.Count()
	if kept[2].Code != "" || kept[2].Numbers != nil || b.numbers[:3][2].Key != "" {
		t.Errorf("the empty batch keeps %+v", kept[2])
	}
	c.SetPolicy(compile(t, "package a\np := input.p"))
	add(mostPending+1, "a/p")
	b.Reset()
	add(2, "a/p")
	b.Count()
	add(1, "a/p")
	c.SetPolicy(compile(t, "package old\nq := input.q"))
	b.Count() // takes the room
	add(5, "old/q")
	b.Count()
	for label, want := range map[string]float64{"a/p": 0, "old/q": 5} {
		checkDecisions(t, registry, "opa", label, want)
	}
	c.SetPolicy(compile(t, "package a\np := input.p"))
	add(2, "a/p")
	b.Count()
	for range 2 {
		b.Add(rollup.Decision{Path: "a/p", Outcome: outcome.Allowed, Numbers: make([]rollup.Number, mostNumbers/2+1)})
	}
	if n := len(b.numbers); n > mostNumbers {
		t.Errorf("%d timers and counters wait in a batch", n)
	}
	b.Reset()
	for label, want := range map[string]float64{rollup.Other: mostPending + 1003, outcome.Query: 1, outcome.AllData: 1, "a/p": 2, "old/q": 0, "someone@example.com": 0} {
		checkDecisions(t, registry, "opa", label, want)
	}
}

// The counter logs which labels are shared and lost.
func TestLogCounterLogs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c, err := NewLogCounter(prometheus.NewRegistry(), []byte(`{"max_paths": 2}`), "", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.SetPolicy(compile(t, rules("a", "b", "c")))
	b := c.NewBatch()
	b.Add(rollup.Decision{Path: "p/a"})
	b.Count()
	c.SetPolicy(compile(t, rules("z")))
	want := []string{`level=INFO msg="The policy has 3 paths`, `level=WARN msg="A new policy takes the labels of 1 paths with decisions: p/a.`}
	if got := slices.Collect(strings.Lines(log.String())); !slices.EqualFunc(got, want, strings.Contains) {
		t.Fatalf("the log has %q, want %q", got, want)
	}
}
