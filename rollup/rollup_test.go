// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/rollup"
)

func newRollup(t testing.TB, o rollup.Options) *rollup.Rollup {
	t.Helper()
	r, err := rollup.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func snapshotOf(r *rollup.Rollup) *rollup.Snapshot {
	var s rollup.Snapshot
	r.Snapshot(&s)
	return &s
}

// stageOf returns a stage of a path, or fails.
func stageOf(t *testing.T, s *rollup.Snapshot, path, stage string) *rollup.StageTotal {
	t.Helper()
	for i := range s.Paths {
		for j := range s.Paths[i].Stages {
			if st := &s.Paths[i].Stages[j]; s.Paths[i].Label == path && st.Stage == stage {
				return st
			}
		}
	}
	t.Fatalf("no stage %q of path %q", stage, path)
	return nil
}

func TestAdd(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	for range 3 {
		r.Add("a/b", rollup.Denied, map[string]any{
			"timer_server_handler_ns":          int64(100),
			"timer_rego_query_eval_ns":         json.Number("40"),
			"timer_mine_ns":                    int64(0),
			"timer_backwards_ns":               int64(-5),
			"counter_server_query_cache_hit":   uint64(2),
			"counter_mine":                     0,
			"histogram_eval_op_plug":           map[string]any{"count": int64(5)},
			"timer_without_unit":               "x",
			"something":                        []any{},
			"timer_rego_query_parse_ns":        "fast",
			"counter_negative":                 int64(-1),
			"counter_rego_builtin_http_send_x": nil,
		})
	}
	s := snapshotOf(r)
	if len(s.Paths) != 1 || s.Paths[0].Label != "a/b" || s.Paths[0].Outcomes != [5]uint64{rollup.Denied: 3} {
		t.Fatalf("paths: %+v", s.Paths)
	}
	for _, want := range []struct {
		stage                                   string
		count, sum, self, unfinished, negatives uint64
	}{
		{"server_handler", 3, 300, 180, 0, 0},
		{"rego_query_eval", 3, 120, 120, 0, 0},
		{"mine", 0, 0, 0, 3, 0},
		{"backwards", 0, 0, 0, 0, 3},
	} {
		st := stageOf(t, s, "a/b", want.stage)
		_, sum := st.Histogram.Sum()
		if st.Histogram.Count() != want.count || sum != want.sum || st.Self != want.self ||
			st.Unfinished != want.unfinished || st.Histogram.Negatives() != want.negatives {
			t.Errorf("got %d samples, sum %d, self %d, %d unfinished, %d negative, want %+v",
				st.Histogram.Count(), sum, st.Self, st.Unfinished, st.Histogram.Negatives(), want)
		}
	}
	if n := len(s.Paths[0].Stages); n != 4 {
		t.Errorf("%d stages, want 4", n)
	}
	events := s.Paths[0].Events
	slices.SortFunc(events, func(a, b rollup.EventTotal) int { return strings.Compare(a.Event, b.Event) })
	if want := []rollup.EventTotal{{"mine", 0}, {"server_query_cache_hit", 6}}; !slices.Equal(events, want) {
		t.Errorf("events %+v, want %+v", events, want)
	}
	if want := (rollup.Overflow{Invalid: 9}); s.Overflow != want {
		t.Errorf("overflow %+v, want %+v", s.Overflow, want)
	}
}

func TestAddMetrics(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	for _, name := range []string{"server_handler", "rego_query_eval", "mine"} {
		m.Timer(name).Start()
	}
	for _, name := range []string{"mine", "rego_query_eval", "server_handler"} {
		for m.Timer(name).Stop() == 0 {
			m.Timer(name).Start()
		}
	}
	m.Timer("never stopped").Start()
	m.Counter("hits").Add(7)
	m.Counter("wrapped").Add(math.MaxUint64)
	m.Histogram("h").Update(3)

	want := newRollup(t, rollup.Options{})
	want.Add("p", rollup.Allowed, m.All())
	if c := contentsOf(t, want); len(c.Cells) != 4 || len(c.Totals) != 1 || c.Overflow.Invalid != 1 {
		t.Errorf("%+v", c)
	}
	for name, m := range map[string]metrics.Metrics{"own": m, "foreign": wrapped{m}} {
		got := newRollup(t, rollup.Options{})
		got.AddMetrics("p", rollup.Allowed, m)
		t.Log(name)
		requireSame(t, contentsOf(t, got), contentsOf(t, want))
	}

	none := newRollup(t, rollup.Options{})
	none.AddMetrics("p", rollup.Error, nil)
	none.AddMetrics("p", rollup.Error, metrics.NoOp())
	none.Add("p", rollup.Error, nil)
	none.AddNumbers("p", rollup.Error, nil)
	requireSame(t, contentsOf(t, none), contents{
		map[string][5]uint64{"p": {rollup.Error: 4}}, map[[2]string]modelCell{}, map[[2]string]uint64{}, rollup.Overflow{},
	})
}

// wrapped is an implementation of which Regometer knows nothing.
type wrapped struct{ metrics.Metrics }

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	r.Add("p", 200, nil)
	if got := snapshotOf(r).Paths[0].Outcomes; got != [5]uint64{rollup.OtherResult: 1} {
		t.Errorf("%v", got)
	}
}

func TestSelfTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		timers map[string]int64
		want   map[string]uint64
	}{
		{
			"nested",
			map[string]int64{
				"server_handler": 100, "rego_input_parse": 10, "rego_query_eval": 60, "rego_builtin_http_send": 50,
			},
			map[string]uint64{
				"server_handler": 30, "rego_input_parse": 10, "rego_query_eval": 10, "rego_builtin_http_send": 50,
			},
		},
		{
			"by the SDK",
			map[string]int64{"sdk_decision_eval": 100, "rego_query_compile": 30, "rego_query_eval": 60},
			map[string]uint64{"sdk_decision_eval": 10, "rego_query_compile": 30, "rego_query_eval": 60},
		},
		{
			"the SDK inside a handler",
			map[string]int64{"server_handler": 120, "sdk_decision_eval": 100, "rego_query_eval": 60},
			map[string]uint64{"server_handler": 20, "sdk_decision_eval": 40, "rego_query_eval": 60},
		},
		{
			"parent missing",
			map[string]int64{"server_handler": 100, "rego_builtin_http_send": 50},
			map[string]uint64{"server_handler": 50, "rego_builtin_http_send": 50},
		},
		{
			"parent unfinished",
			map[string]int64{"server_handler": 100, "rego_query_eval": 0, "rego_builtin_http_send": 50},
			map[string]uint64{"server_handler": 50, "rego_query_eval": 0, "rego_builtin_http_send": 50},
		},
		{
			"handler unfinished",
			map[string]int64{"server_handler": 0, "rego_query_eval": 30},
			map[string]uint64{"server_handler": 0, "rego_query_eval": 30},
		},
		{
			"child unfinished",
			map[string]int64{"server_handler": 100, "rego_query_eval": 0},
			map[string]uint64{"server_handler": 100, "rego_query_eval": 0},
		},
		{
			"child negative",
			map[string]int64{"server_handler": 100, "rego_query_eval": -30},
			map[string]uint64{"server_handler": 100, "rego_query_eval": 0},
		},
		{
			"child above parent",
			map[string]int64{"server_handler": 100, "rego_query_eval": 130, "rego_input_parse": 20},
			map[string]uint64{"server_handler": 0, "rego_query_eval": 130, "rego_input_parse": 20},
		},
		{
			"Compile API",
			map[string]int64{
				"server_handler": 100, "compile_eval_mask_rule": 20, "rego_query_eval": 15, "rego_partial_eval": 30,
				"compile_prep_partial": 12, "compile_eval_constraints": 11,
			},
			map[string]uint64{
				"server_handler": 38, "compile_eval_mask_rule": 5, "rego_query_eval": 15, "rego_partial_eval": 30,
				"compile_prep_partial": 1, "compile_eval_constraints": 11,
			},
		},
		{
			"http.send of partial evaluation",
			map[string]int64{"rego_partial_eval": 30, "rego_builtin_http_send": 25},
			map[string]uint64{"rego_partial_eval": 5, "rego_builtin_http_send": 25},
		},
		{
			"Wasm",
			map[string]int64{
				"rego_query_eval": 100, "rego_external_resolve": 90, "wasm_pool_acquire": 10, "wasm_vm_eval": 70,
				"wasm_vm_eval_call": 60, "wasm_vm_eval_prepare_input": 5,
			},
			map[string]uint64{
				"rego_query_eval": 10, "rego_external_resolve": 10, "wasm_pool_acquire": 10, "wasm_vm_eval": 5,
				"wasm_vm_eval_call": 60, "wasm_vm_eval_prepare_input": 5,
			},
		},
		{
			"instrumentation",
			map[string]int64{"rego_query_eval": 100, "eval_op_plug": 10, "eval_op_resolve": 20, "rego_query_compile": 7, "query_compile_stage_check_types": 4},
			map[string]uint64{"rego_query_eval": 70, "rego_query_compile": 3, rollup.Other: 34},
		},
		{
			"not in the table",
			map[string]int64{"server_handler": 100, "mine": 60},
			map[string]uint64{"server_handler": 100, "mine": 60},
		},
		{
			"extreme",
			map[string]int64{
				"server_handler": math.MaxInt64, "rego_query_eval": math.MaxInt64, "rego_input_parse": math.MaxInt64,
				"rego_query_parse": math.MinInt64,
			},
			map[string]uint64{
				"server_handler": 0, "rego_query_eval": math.MaxInt64, "rego_input_parse": math.MaxInt64, "rego_query_parse": 0,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, m := newRollup(t, rollup.Options{}), map[string]any{}
			for stage, ns := range test.timers {
				m["timer_"+stage+"_ns"] = ns
			}
			r.Add("p", rollup.Allowed, m)
			s := snapshotOf(r)
			got := map[string]uint64{}
			for _, st := range s.Paths[0].Stages {
				got[st.Stage] = st.Self
			}
			for stage, want := range test.want {
				if self, ok := got[stage]; !ok || self != want {
					t.Errorf("%s: self time %d, want %d", stage, self, want)
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("stages %v", got)
			}
			if s.Overflow != (rollup.Overflow{}) {
				t.Errorf("overflow %+v", s.Overflow)
			}
		})
	}
}

// TestSelfTimeWithoutLabels: what contains what does not depend on which stages
// got a label.
func TestSelfTimeWithoutLabels(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 1}})
	for range 2 {
		r.AddNumbers("p", rollup.Allowed, []rollup.Number{
			{"timer_rego_input_parse_ns", 10},
			{"timer_server_handler_ns", 100},
			{"timer_rego_query_eval_ns", 60},
			{"timer_rego_builtin_http_send_ns", 50},
		})
	}
	s := snapshotOf(r)
	if self := stageOf(t, s, "p", "rego_input_parse").Self; self != 20 {
		t.Errorf("self time %d, want 20", self)
	}
	if self := stageOf(t, s, "p", rollup.Other).Self; self != 180 {
		t.Errorf("self time of the rest %d, want 180", self)
	}
	if want := (rollup.Overflow{Stages: 6}); s.Overflow != want {
		t.Errorf("overflow %+v, want %+v", s.Overflow, want)
	}
}

// TestManyMetrics has more metrics in a decision than are kept on the stack.
func TestManyMetrics(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 100, Histograms: 300}})
	numbers := []rollup.Number{{"timer_rego_builtin_http_send_ns", 3}}
	for i := range 50 {
		numbers = append(numbers, rollup.Number{Key: "timer_" + strings.Repeat("x", i+1) + "_ns", Value: int64(i + 1)})
	}
	numbers = append(numbers, rollup.Number{Key: "timer_rego_query_eval_ns", Value: 10})
	r.AddNumbers("p", rollup.Allowed, numbers)
	s := snapshotOf(r)
	if n := len(s.Paths[0].Stages); n != 52 {
		t.Errorf("%d stages, want 52", n)
	}
	if self := stageOf(t, s, "p", "rego_query_eval").Self; self != 7 {
		t.Errorf("self time %d, want 7", self)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", 2000)
	r := newRollup(t, rollup.Options{Label: func(path string) (string, bool) {
		return strings.TrimPrefix(path, "refuse "), !strings.HasPrefix(path, "refuse")
	}})
	for _, path := range []string{"a", "refuse a", "other", "", "b\xff\xfec", "b\uFFFDc", "b\xffc", long, "c"} {
		r.Add(path, rollup.Undefined, map[string]any{"timer_s\xff_ns": int64(1), "counter_" + long: 3})
	}
	s := snapshotOf(r)
	got := map[string]uint64{}
	var order []string
	for _, p := range s.Paths {
		got[p.Label] = p.Outcomes[rollup.Undefined]
		order = append(order, p.Label)
		if st := p.Stages[0]; st.Stage != "s\uFFFD" || st.Histogram.Count() != got[p.Label] {
			t.Errorf("path %q: stage %q with %d samples", p.Label, st.Stage, st.Histogram.Count())
		}
		if e := p.Events[0]; e.Event != rollup.Other || e.Total != 3*got[p.Label] {
			t.Errorf("path %q: event %q, total %d", p.Label, e.Event, e.Total)
		}
	}
	if want := []string{rollup.Other, "a", "b\uFFFDc", "c"}; !slices.Equal(order, want) {
		t.Errorf("paths %q, want %q", order, want)
	}
	if got[rollup.Other] != 4 || got["a"] != 1 || got["b\uFFFDc"] != 3 || got["c"] != 1 {
		t.Errorf("decisions by path: %v", got)
	}
	if want := (rollup.Overflow{Paths: 1, Counters: 27}); s.Overflow != want {
		t.Errorf("overflow %+v, want %+v", s.Overflow, want)
	}
}

// TestPathIsNotCutApart: a path gets a label only while there is a histogram
// for each of its stages; path Other always has room for all.
func TestPathIsNotCutApart(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 4, Histograms: 5 + 7}})
	decision := []rollup.Number{{"timer_a_ns", 1}, {"timer_b_ns", 1}, {"timer_c_ns", 1}}
	for _, path := range []string{"p", "q", "r"} {
		r.AddNumbers(path, rollup.Allowed, decision)
	}
	s := snapshotOf(r)
	if len(s.Paths) != 3 || s.Paths[0].Label != rollup.Other {
		t.Fatalf("%+v", s.Paths)
	}
	for _, p := range s.Paths {
		if len(p.Stages) != 3 {
			t.Errorf("path %q has %d stages, want 3", p.Label, len(p.Stages))
		}
	}

	// One histogram is left. The first path takes it; the second has none.
	late := append(slices.Clone(decision), rollup.Number{Key: "timer_late_ns", Value: 1})
	r.AddNumbers("p", rollup.Allowed, late)
	r.AddNumbers("q", rollup.Allowed, late)
	r.AddNumbers("s", rollup.Allowed, nil) // refused, as "r" was
	s = snapshotOf(r)
	if st := stageOf(t, s, "p", "late"); st.Histogram.Count() != 1 {
		t.Error("the late stage of p went elsewhere")
	}
	if st := stageOf(t, s, rollup.Other, "late"); st.Histogram.Count() != 1 {
		t.Error("the late stage of q was lost")
	}
	if want := (rollup.Overflow{Paths: 2, Histograms: 1}); s.Overflow != want {
		t.Errorf("overflow %+v, want %+v", s.Overflow, want)
	}
}

// TestMergeOverflow: what does not fit is counted, beside what was counted
// before.
func TestMergeOverflow(t *testing.T) {
	t.Parallel()
	from := newRollup(t, rollup.Options{Limits: rollup.Limits{Paths: 2}})
	for _, path := range []string{"p", "q", "q", "r"} {
		from.AddNumbers(path, rollup.Denied, []rollup.Number{
			{"timer_a_ns", 5}, {"timer_b_ns", 0}, {"timer_c_ns", -1}, {"counter_c", 10}, {"counter_d", 7}, {"counter_d", -1},
		})
	}
	for name, test := range map[string]struct {
		limits rollup.Limits
		want   rollup.Overflow
	}{
		"paths":      {rollup.Limits{Paths: 1}, rollup.Overflow{Paths: 1 + 2, Invalid: 4}},
		"stages":     {rollup.Limits{Stages: 1, Histograms: 100}, rollup.Overflow{Paths: 1, Stages: 8, Invalid: 4}},
		"counters":   {rollup.Limits{Counters: 1}, rollup.Overflow{Paths: 1, Counters: 28, Invalid: 4}},
		"histograms": {rollup.Limits{Histograms: 17 + 5}, rollup.Overflow{Paths: 1 + 2, Invalid: 4}},
		"events":     {rollup.Limits{Events: 17 + 3}, rollup.Overflow{Paths: 1 + 2, Invalid: 4}},
	} {
		r := newRollup(t, rollup.Options{Limits: test.limits})
		if err := r.Merge(snapshotOf(from)); err != nil {
			t.Fatal(err)
		}
		s := snapshotOf(r)
		if s.Overflow != test.want {
			t.Errorf("%s: overflow %+v, want %+v", name, s.Overflow, test.want)
		}
	}

	// Labelled paths that have new stages and events, but no room for them.
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Histograms: 17 + 1, Events: 17 + 1}})
	r.AddNumbers("q", rollup.Allowed, []rollup.Number{{"timer_a_ns", 5}, {"counter_c", 1}})
	if err := r.Merge(snapshotOf(from)); err != nil {
		t.Fatal(err)
	}
	if got, want := snapshotOf(r).Overflow, (rollup.Overflow{Paths: 1 + 1, Histograms: 4, Events: 14, Invalid: 4}); got != want {
		t.Errorf("overflow %+v, want %+v", got, want)
	}
}

// TestMergeOwnSnapshot doubles what there is.
func TestMergeOwnSnapshot(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	m := map[string]any{"timer_server_handler_ns": int64(10), "timer_rego_query_eval_ns": int64(4), "counter_c": 1}
	r.Add("p", rollup.Allowed, m)
	if err := r.Merge(snapshotOf(r)); err != nil {
		t.Fatal(err)
	}
	want := newRollup(t, rollup.Options{})
	want.Add("p", rollup.Allowed, m)
	want.Add("p", rollup.Allowed, m)
	requireSame(t, contentsOf(t, r), contentsOf(t, want))
}

func TestMergeOfOtherUnit(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	r.Add("p", rollup.Allowed, map[string]any{"timer_s_ns": int64(10)})
	bad := snapshotOf(r)
	h := exphist.New(exphist.Integer)
	h.Record(3)
	h.Snapshot(&bad.Paths[0].Stages[0].Histogram)
	before := contentsOf(t, r)
	err := r.Merge(bad)
	if err == nil || !strings.Contains(err.Error(), `stage "s" and path "p"`) {
		t.Errorf("error %v", err)
	}
	requireSame(t, contentsOf(t, r), before)
}

// TestSnapshotReuse: a snapshot used again holds the same as a new one.
func TestSnapshotReuse(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	big, small := newRollup(t, rollup.Options{}), newRollup(t, rollup.Options{})
	var s rollup.Snapshot
	for range 50 {
		for range 10 {
			path, outcome, numbers := w.decision()
			big.AddNumbers(path, outcome, numbers)
		}
		path, outcome, numbers := w.decision()
		small.AddNumbers(path, outcome, numbers)
		for _, r := range []*rollup.Rollup{big, small} {
			r.Snapshot(&s)
			c := r.Clone()
			if err := c.Merge(&s); err != nil {
				t.Fatal(err)
			}
			want := r.Clone()
			if err := want.Merge(snapshotOf(r)); err != nil {
				t.Fatal(err)
			}
			requireSame(t, contentsOf(t, c), contentsOf(t, want))
		}
	}
}
