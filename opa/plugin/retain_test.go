// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins/logs"

	"github.com/regometer/regometer/rollup"
)

// pathsOf returns the labels that have series, in order.
func pathsOf(t *testing.T, r *recorder) string {
	t.Helper()
	r.state.recording.RLock()
	counted := r.state.rollup
	r.state.recording.RUnlock()
	var snapshot rollup.Snapshot
	counted.Snapshot(&snapshot)
	var labels []string
	for _, p := range snapshot.Paths {
		labels = append(labels, p.Label)
	}
	slices.Sort(labels)
	return strings.Join(labels, " ")
}

// The series of a path that is gone stay until their room is needed, and go by
// how long they have been gone.
func TestRetention(t *testing.T) {
	t.Parallel()
	config := withMaxPaths(3)
	r := newRecorder(t, prometheus.NewRegistry(), config, nil)
	s := r.state
	activate := func(names ...string) {
		t.Helper()
		var b strings.Builder
		b.WriteString("package p\n")
		for _, name := range names {
			fmt.Fprintf(&b, "%s := 1\n", name)
		}
		r.activate(compile(t, b.String()))
	}
	ask := func(names ...string) {
		for _, name := range names {
			r.record(&decision{path: "p/" + name}, []rollup.Number{{Key: "timer_rego_query_eval_ns", Value: 1}}, nil)
		}
	}
	check := func(want string) {
		t.Helper()
		if got := pathsOf(t, r); got != want {
			t.Errorf("series of %q, want %q", got, want)
		}
	}
	activate("a", "b", "c")
	ask("a", "b", "c")
	check("p/a p/b p/c")
	// The policy has one path less: its decisions are other, its series stay.
	activate("b", "c")
	ask("a", "a", "b")
	check("other p/a p/b p/c")
	if n := r.labels.counts; n.own != 2 {
		t.Errorf("%+v", n)
	}
	// There is room for five, with those of ad-hoc queries and of all
	// documents. A new path takes the room of the one that has been gone for
	// longest, once it is asked for.
	activate("b", "d", "e")
	check("other p/a p/b p/c")
	ask("d", "e")
	check("other p/a p/b p/c p/d p/e")
	r.record(&decision{query: "x = 1"}, nil, nil)
	check("(query) other p/b p/c p/d p/e")
	r.record(&decision{path: "/"}, nil, nil)
	check("(data) (query) other p/b p/d p/e")
	ask("c", "b", "d", "e")
	check("(data) (query) other p/b p/d p/e")
	// A path that comes back begins anew.
	activate("a", "b", "d")
	ask("a", "d")
	check("(data) (query) other p/a p/b p/d")
	var snapshot rollup.Snapshot
	s.rollup.Snapshot(&snapshot)
	byPath := map[string]uint64{}
	for _, p := range snapshot.Paths {
		byPath[p.Label] = p.Outcomes[rollup.Allowed]
	}
	if byPath["p/a"] != 1 || byPath["p/b"] != 3 || byPath[rollup.Other] != 3 {
		t.Errorf("%v", byPath)
	}
	// Over all paths nothing is missing.
	if n := snapshot.Stages[0].Histogram.Count(); n != 14 {
		t.Errorf("%d durations, want 14", n)
	}
	if n := s.received[fromServer].Load(); n != 14+2 {
		t.Errorf("%d decisions received, want 16", n)
	}
	// However many policies come and go, nothing is remembered of most of them.
	for i := range 100 {
		activate(fmt.Sprint("x", i), fmt.Sprint("y", i))
	}
	if len(s.lastActive) > 3*config.MaxPaths {
		t.Errorf("remembered: %v", s.lastActive)
	}
}

// Random policies, limits and decisions, against the rule: when there is no
// room, the series go whose label has not been given for longest, by name if
// for equally long, and as few as must be.
func TestRetentionModel(t *testing.T) {
	t.Parallel()
	names := strings.Split("abcdefgh", "")
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		config := withMaxPaths(3)
		r := newRecorder(t, nil, config, compile(t, "package p\na := 1"))
		s := r.state
		counted, last, activation := map[string]uint64{}, map[string]int{}, 0
		others, all := uint64(0), uint64(0)
		makeRoom := func(series int) {
			for len(counted) > series {
				first := ""
				for label := range counted {
					if r.labels.given[label] == nil && (first == "" || last[label] < last[first] || last[label] == last[first] && label < first) {
						first = label
					}
				}
				delete(counted, first)
			}
		}
		activated := func() {
			activation++
			for label := range r.labels.given {
				last[label] = activation
			}
		}
		activated()
		for step := range 150 {
			switch random.IntN(12) {
			case 0: // another policy
				var b strings.Builder
				b.WriteString("package p\n")
				for _, i := range random.Perm(len(names))[:1+random.IntN(3)] {
					fmt.Fprintf(&b, "%s := 1\n", names[i])
				}
				r.activate(compile(t, b.String()))
				activated()
			case 1: // another configuration
				config = withMaxPaths(3 + random.IntN(4))
				if err := r.configure(config); err != nil {
					t.Fatal(err)
				}
				makeRoom(config.MaxPaths + unnamed)
				activated()
			default:
				d := decision{path: "p/" + names[random.IntN(len(names))]}
				switch random.IntN(8) {
				case 0:
					d = decision{query: "x = 1"}
				case 1:
					d = decision{path: "p"}
				case 2:
					d = decision{path: ""}
				}
				r.record(&d, []rollup.Number{{Key: "timer_rego_query_eval_ns", Value: 1}}, nil)
				all++
				l, _ := r.labels.of(d.path, d.query)
				if l.name == rollup.Other {
					others++
					break
				}
				if counted[l.name] == 0 {
					makeRoom(config.MaxPaths + unnamed - 1)
				}
				counted[l.name]++
			}
			var snapshot rollup.Snapshot
			s.rollup.Snapshot(&snapshot)
			got := map[string]uint64{}
			for _, p := range snapshot.Paths {
				got[p.Label] = p.Outcomes[rollup.Allowed]
			}
			if got[rollup.Other] != others {
				t.Fatalf("seed %d, step %d: %d others, want %d", seed, step, got[rollup.Other], others)
			}
			delete(got, rollup.Other)
			if !maps.Equal(got, counted) {
				t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, counted)
			}
			if all > 0 && snapshot.Stages[0].Histogram.Count() != all {
				t.Fatalf("seed %d, step %d: %d durations, want %d", seed, step, snapshot.Stages[0].Histogram.Count(), all)
			}
		}
	}
}

// When a policy gives all of many paths another name, room is not made a
// thousand times, since decisions wait meanwhile.
func TestRetentionOfMany(t *testing.T) {
	t.Parallel()
	const paths = 1000
	policy := func(name string) *ast.Compiler {
		var b strings.Builder
		b.WriteString("package p\n")
		for i := range paths {
			fmt.Fprintf(&b, "%s%d := 1\n", name, i)
		}
		return compile(t, b.String())
	}
	r := newRecorder(t, prometheus.NewRegistry(), withMaxPaths(paths), policy("before"))
	s := r.state
	made := 0
	ask := func(name string) {
		for i := range paths {
			before := s.rollup
			r.record(&decision{path: fmt.Sprint("p/", name, i)}, nil, nil)
			if s.rollup != before {
				made++
			}
		}
	}
	if ask("before"); made > 0 {
		t.Errorf("room was made %d times for what there is room for", made)
	}
	r.activate(policy("after"))
	if ask("after"); made == 0 || made > 100 {
		t.Errorf("room was made %d times, want 100 at most", made)
	}
	if n := strings.Count(pathsOf(t, r), "p/after"); n != paths {
		t.Errorf("%d paths have series, want %d", n, paths)
	}
}

// While policies change, no decision is lost, and none gets a label that its
// policy does not give.
func TestRelabelUnderLoad(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	policies := []*ast.Compiler{
		compile(t, "package p\na := 1\nb := 1"), compile(t, "package p\nc := 1\nd := 1"), compile(t, "package q\nx := 1\ny := 1"),
	}
	r := newRecorder(t, registry, withMaxPaths(2), policies[0])
	const goroutines, each = 4, 3000
	var load sync.WaitGroup
	for range goroutines {
		load.Go(func() {
			m := requestMetrics()
			for i := range each {
				r.record(&decision{path: []string{"p/a", "p/b", "p/c", "p/d", "q/x", "q/y"}[i%6]}, nil, m)
			}
		})
	}
	for i := range 60 {
		r.activate(policies[i%3])
		if got := strings.Fields(pathsOf(t, r)); len(got) > 2+unnamed+1 {
			t.Errorf("series of %q", got)
		}
	}
	load.Wait()
	if n := sumOf(t, registry, "opa_decision_stage_duration_seconds", map[string]string{"stage": "rego_query_eval"}); n != goroutines*each {
		t.Errorf("%v durations, want %d", n, goroutines*each)
	}
	if n := sumOf(t, registry, "opa_decision_received_total", nil); n != goroutines*each {
		t.Errorf("%v decisions received, want %d", n, goroutines*each)
	}
}

// Decisions of paths that share a label for want of room are counted as such,
// and no others are.
func TestOverflow(t *testing.T) {
	t.Parallel()
	c := compile(t, "package p\na := 1\nb := 1\nc := 1", "package q\nx := 1")
	config := withMaxPaths(2)
	config.Paths.Prefixes = []string{"q"}
	r := newRecorder(t, nil, config, c)
	s := r.state
	for path, want := range map[string]uint64{"p/a": 1, "p/c/x": 1, "p": 0, "q/x": 0, "q": 0, "nothing": 0, "p/nothing": 0, "": 0} {
		var before, after rollup.Snapshot
		s.rollup.Snapshot(&before)
		r.record(&decision{path: path}, nil, nil)
		s.rollup.Snapshot(&after)
		if got := after.Overflow.Paths - before.Overflow.Paths; got != want {
			t.Errorf("%q: overflow %d, want %d", path, got, want)
		}
	}
}

// Other bounds restart the classic buckets and nothing else.
func TestBoundsChange(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPlugin(t, `{"classic_buckets": [0.0001, 0.001]}`, registry)
	ask := func() {
		if err := p.Log(t.Context(), logs.EventV1{Path: "x", Metrics: map[string]any{"timer_rego_query_eval_ns": 500_000}}); err != nil {
			t.Error(err)
		}
	}
	ask()
	check := func(want string) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "opa_decision_stage_duration_seconds" {
				h, got := f.GetMetric()[0].GetHistogram(), ""
				for _, b := range h.GetBucket() {
					got += fmt.Sprintf("%v:%d ", b.GetUpperBound(), b.GetCumulativeCount())
				}
				got += fmt.Sprintf("count %d sum %v spans %d", h.GetSampleCount(), h.GetSampleSum(), len(h.GetPositiveSpan()))
				if got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		}
	}
	check("0.0001:0 0.001:1 count 1 sum 0.0005 spans 1")
	p.mustReconfigure(t, `{"classic_buckets": [0.001, 0.3]}`)
	check("0.001:0 0.3:0 count 1 sum 0.0005 spans 1")
	ask()
	check("0.001:1 0.3:1 count 2 sum 0.001 spans 1")
	p.mustReconfigure(t, `{"classic_buckets": [0.001, 0.3], "max_paths": 20}`)
	check("0.001:1 0.3:1 count 2 sum 0.001 spans 1")
}

// However much room is asked for, labels that are given keep their series.
func TestWithoutRoom(t *testing.T) {
	t.Parallel()
	counted, err := rollup.New(rollup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "x", "b", "y"} {
		counted.Admit(name)
	}
	s := &state{rollup: counted, lastActive: map[string]int{"x": 2, "y": 1}}
	started := map[*recorder]*labels{{}: {given: map[string]*label{"a": {}}}, {}: {given: map[string]*label{"b": {}}}}
	for room, want := range map[int]int{-5: 2, 0: 2, 2: 2, 3: 1, 4: 0, 9: 0} {
		gone := s.withoutRoom(started, room)
		if len(gone) != want || want == 1 && !gone["y"] {
			t.Errorf("room for %d: %v, want %d", room, gone, want)
		}
	}
}
