// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
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

// stageOf returns a stage of a list, or fails.
func stageOf(t *testing.T, stages []rollup.StageTotal, name string) *rollup.StageTotal {
	t.Helper()
	for i := range stages {
		if stages[i].Stage == name {
			return &stages[i]
		}
	}
	t.Fatalf("no stage %q in %+v", name, stages)
	return nil
}

func TestAdd(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	for range 3 {
		r.Add(rollup.Decision{Path: "a/b", Outcome: rollup.Denied}, map[string]any{
			"timer_server_handler_ns":          int64(100),
			"timer_rego_query_eval_ns":         json.Number("40"),
			"timer_rego_input_parse_ns":        int64(0),
			"timer_rego_partial_eval_ns":       int64(-5),
			"timer_mine_ns":                    int64(7),
			"timer_eval_op_plug_ns":            int64(1),
			"counter_server_query_cache_hit":   uint64(2),
			"counter_mine":                     4,
			"counter_eval_op_base_cache_hit":   5,
			"histogram_eval_op_plug":           map[string]any{"count": int64(5)},
			"timer_without_unit":               "x",
			"something":                        []any{},
			"timer_rego_query_parse_ns":        "fast",
			"counter_negative":                 int64(-1),
			"counter_rego_builtin_http_send_x": nil,
		})
	}
	s := snapshotOf(r)
	if len(s.Paths) != 1 || s.Paths[0].Label != "a/b" || s.Paths[0].Outcomes != [6]uint64{rollup.Denied: 3} {
		t.Fatalf("paths: %+v", s.Paths)
	}
	check := func(stages []rollup.StageTotal, stage string, count, sum, self, unfinished, negatives uint64) {
		t.Helper()
		st := stageOf(t, stages, stage)
		_, got := st.Histogram.Sum()
		if st.Histogram.Count() != count || got != sum || st.Self != self ||
			st.Unfinished != [3]uint64{unfinished} || st.Histogram.Negatives() != negatives {
			t.Errorf("%s: %d samples, sum %d, self %d, %v unfinished, %d negative, want %d, %d, %d, %d, %d", stage,
				st.Histogram.Count(), got, st.Self, st.Unfinished, st.Histogram.Negatives(), count, sum, self, unfinished, negatives)
		}
	}
	check(s.Stages, "server_handler", 3, 300, 180, 0, 0)
	check(s.Stages, "rego_query_eval", 3, 120, 117, 0, 0)
	check(s.Stages, "rego_input_parse", 0, 0, 0, 3, 0)
	check(s.Stages, "rego_partial_eval", 0, 0, 0, 0, 3)
	check(s.Stages, rollup.Other, 6, 24, 24, 0, 0)
	if n := len(s.Stages); n != 5 {
		t.Errorf("%d stages, want 5", n)
	}
	check(s.Paths[0].Stages, "server_handler", 3, 300, 180, 0, 0)
	check(s.Paths[0].Stages, "rego_query_eval", 3, 120, 120, 0, 0) // the operations are part of it: they are not kept
	if n := len(s.Paths[0].Stages); n != 2 {
		t.Errorf("%d stages of the path, want 2", n)
	}
	if want := []rollup.CounterTotal{{rollup.Other, 27}, {"server_query_cache_hit", 6}}; !slices.Equal(s.Counters, want) {
		t.Errorf("counters %+v, want %+v", s.Counters, want)
	}
	if want := (rollup.Overflow{Stages: 3, Counters: 12, Invalid: 9}); s.Overflow != want {
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

	d := rollup.Decision{Path: "p", Outcome: rollup.Allowed}
	want := newRollup(t, rollup.Options{})
	want.Add(d, m.All())
	if c := contentsOf(t, want); len(c.Stages) != 3 || len(c.PathStages) != 2 || len(c.Unfinished) != 1 || len(c.Counters) != 1 || c.Overflow.Invalid != 1 {
		t.Errorf("%+v", c)
	}
	for name, m := range map[string]metrics.Metrics{"own": m, "foreign": wrapped{m}} {
		got := newRollup(t, rollup.Options{})
		got.AddMetrics(d, m)
		t.Log(name)
		requireSame(t, contentsOf(t, got), contentsOf(t, want))
	}

	none := newRollup(t, rollup.Options{})
	none.AddMetrics(d, nil)
	none.AddMetrics(d, metrics.NoOp())
	none.Add(d, nil)
	none.AddNumbers(d, nil)
	empty := newContents()
	empty.Outcomes["p"] = [6]uint64{rollup.Allowed: 4}
	requireSame(t, contentsOf(t, none), empty)
}

// wrapped is an implementation of which Regometer knows nothing.
type wrapped struct{ metrics.Metrics }

// TestAddMetricsOfOtherTypes has values that are of no kind.
func TestAddMetricsOfOtherTypes(t *testing.T) {
	t.Parallel()
	m := map[string]any{"timer_server_handler_ns": json.Number("7"), "counter_server_query_cache_hit": 2.0, "timer_x_ns": "x"}
	want, got := newRollup(t, rollup.Options{}), newRollup(t, rollup.Options{})
	want.Add(rollup.Decision{}, m)
	got.AddMetrics(rollup.Decision{}, reported{all: m})
	requireSame(t, contentsOf(t, got), contentsOf(t, want))
	if c := contentsOf(t, got); len(c.Stages) != 1 || len(c.Counters) != 1 || c.Overflow.Invalid != 1 {
		t.Errorf("%+v", c)
	}
}

type reported struct {
	metrics.Metrics
	all map[string]any
}

func (r reported) All() map[string]any { return r.all }

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	r.Add(rollup.Decision{Path: "p", Outcome: 200}, nil)
	if got := snapshotOf(r).Paths[0].Outcomes; got != [6]uint64{rollup.OtherResult: 1} {
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
			map[string]uint64{"server_handler": 100, rollup.Other: 60},
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
			r.Add(rollup.Decision{Path: "p"}, m)
			s := snapshotOf(r)
			got := map[string]uint64{}
			for _, st := range s.Stages {
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
		})
	}
}

// TestPathSelfTime: of a path, what the stages took that are not kept is in the
// nearest kept stage around them.
func TestPathSelfTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		kept   []string
		timers []rollup.Number
		want   map[string]uint64
	}{
		{
			"default", nil,
			[]rollup.Number{
				{"timer_server_handler_ns", 100}, {"timer_rego_input_parse_ns", 10}, {"timer_rego_query_eval_ns", 60}, {"timer_rego_builtin_http_send_ns", 50},
			},
			map[string]uint64{"server_handler": 40, "rego_query_eval": 60},
		},
		{
			"one in between is not kept",
			[]string{"rego_builtin_http_send", "server_handler"},
			[]rollup.Number{
				{"timer_server_handler_ns", 100}, {"timer_rego_input_parse_ns", 10}, {"timer_rego_query_eval_ns", 60}, {"timer_rego_builtin_http_send_ns", 50},
			},
			map[string]uint64{"server_handler": 50, "rego_builtin_http_send": 50},
		},
		{
			"nothing around", []string{"rego_query_eval"},
			[]rollup.Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 60}},
			map[string]uint64{"rego_query_eval": 60},
		},
		{
			"the handler is unfinished", nil,
			[]rollup.Number{{"timer_server_handler_ns", 0}, {"timer_rego_query_eval_ns", 60}},
			map[string]uint64{"rego_query_eval": 60},
		},
		{"none", []string{}, []rollup.Number{{"timer_server_handler_ns", 100}}, map[string]uint64{}},
	} {
		r := newRollup(t, rollup.Options{PathStages: test.kept})
		r.AddNumbers(rollup.Decision{Path: "p"}, test.timers)
		got := map[string]uint64{}
		for _, st := range snapshotOf(r).Paths[0].Stages {
			got[st.Stage] = st.Self
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestUnfinished tells timers of 0 apart by what is to be expected.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	zeros := []rollup.Number{{"timer_server_handler_ns", 0}, {"timer_rego_query_eval_ns", 0}}
	for _, d := range []rollup.Decision{
		{Path: rollup.Query, Outcome: rollup.OtherResult},
		{Path: "all", Query: true, Outcome: rollup.Error},
		{Path: "p", Outcome: rollup.Error},
		{Path: "p", Outcome: rollup.Cancelled},
		{Path: "p", Outcome: rollup.Denied},
	} {
		r.AddNumbers(d, zeros)
	}
	s := snapshotOf(r)
	for stage, want := range map[string][3]uint64{
		"server_handler":  {rollup.CauseQuery: 2, rollup.CauseFailed: 2, rollup.CauseUnknown: 1},
		"rego_query_eval": {rollup.CauseFailed: 3, rollup.CauseUnknown: 2},
	} {
		if got := stageOf(t, s.Stages, stage).Unfinished; got != want {
			t.Errorf("%s: %v, want %v", stage, got, want)
		}
	}
	if len(s.Paths[0].Stages) != 0 {
		t.Errorf("%+v", s.Paths)
	}
	for c, want := range map[rollup.Cause]string{rollup.CauseUnknown: "unknown", rollup.CauseQuery: "query", rollup.CauseFailed: "failed", 3: "failed", 255: "failed"} {
		if got := c.String(); got != want {
			t.Errorf("cause %d: %q, want %q", uint8(c), got, want)
		}
	}
}

// TestErrors counts failed decisions by code, and no others.
func TestErrors(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	for _, code := range append(rollup.ErrorCodes(), "", "invented", "zzz", "eval_conflict_error") {
		r.Add(rollup.Decision{Path: "p", Outcome: rollup.Error, Code: code}, nil)
		r.Add(rollup.Decision{Path: "p", Outcome: rollup.Denied, Code: code}, nil)
	}
	got := map[string]uint64{}
	for _, e := range snapshotOf(r).Errors {
		got[e.Code] = e.Total
	}
	for _, code := range rollup.ErrorCodes() {
		want := uint64(1)
		if code == "eval_conflict_error" {
			want = 2
		}
		if got[code] != want {
			t.Errorf("%s: %d, want %d", code, got[code], want)
		}
	}
	if got[rollup.Other] != 3 || len(got) != len(rollup.ErrorCodes())+1 {
		t.Errorf("%v", got)
	}
}

// TestManyMetrics has more metrics in a decision than are kept on the stack.
func TestManyMetrics(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 100}})
	numbers := []rollup.Number{{"timer_rego_builtin_http_send_ns", 3}}
	for i := range 50 {
		numbers = append(numbers, rollup.Number{Key: "timer_" + strings.Repeat("x", i+1) + "_ns", Value: int64(i + 1)})
	}
	numbers = append(numbers, rollup.Number{Key: "timer_rego_query_eval_ns", Value: 10})
	r.AddNumbers(rollup.Decision{Path: "p"}, numbers)
	s := snapshotOf(r)
	if n := len(s.Stages); n != 52 {
		t.Errorf("%d stages, want 52", n)
	}
	if self := stageOf(t, s.Stages, "rego_query_eval").Self; self != 7 {
		t.Errorf("self time %d, want 7", self)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", 2000)
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 1, Counters: 1}})
	for _, path := range []string{"a", "a", "other", "", "b\xff\xfec", "b\uFFFDc", "b\xffc", long, "c"} {
		r.Add(rollup.Decision{Path: path}, map[string]any{"timer_s\xff_ns": int64(1), "counter_" + long: 3})
	}
	s := snapshotOf(r)
	var order []string
	got := map[string]uint64{}
	for _, p := range s.Paths {
		got[p.Label] = p.Outcomes[rollup.Allowed]
		order = append(order, p.Label)
	}
	if want := []string{rollup.Other, "a", "b\uFFFDc", "c"}; !slices.Equal(order, want) {
		t.Errorf("paths %q, want %q", order, want)
	}
	if want := map[string]uint64{rollup.Other: 3, "a": 2, "b\uFFFDc": 3, "c": 1}; !maps.Equal(got, want) {
		t.Errorf("decisions by path: %v, want %v", got, want)
	}
	if len(s.Stages) != 1 || s.Stages[0].Stage != "s\uFFFD" || s.Stages[0].Histogram.Count() != 9 {
		t.Errorf("stages %+v", s.Stages)
	}
	if want := []rollup.CounterTotal{{rollup.Other, 27}}; !slices.Equal(s.Counters, want) {
		t.Errorf("counters %+v, want %+v", s.Counters, want)
	}
	if want := (rollup.Overflow{Paths: 1, Counters: 27}); s.Overflow != want {
		t.Errorf("overflow %+v, want %+v", s.Overflow, want)
	}
}

// TestLongNames: 1,024 bytes are a label, one more is none.
func TestLongNames(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]rollup.Overflow{1024: {}, 1025: {Paths: 1, Stages: 1, Counters: 1}} {
		r, long := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 1, Counters: 1}}), strings.Repeat("x", n)
		r.AddNumbers(rollup.Decision{Path: long}, []rollup.Number{{"timer_" + long + "_ns", 1}, {"counter_" + long, 1}})
		s := snapshotOf(r)
		if s.Overflow != want {
			t.Errorf("%d bytes: overflow %+v, want %+v", n, s.Overflow, want)
		}
		for _, label := range []string{s.Paths[0].Label, s.Stages[0].Stage, s.Counters[0].Counter} {
			if own := label == long; own != (want == rollup.Overflow{}) {
				t.Errorf("%d bytes: label %.20q", n, label)
			}
		}
	}
}

// TestCounterOfZero: a counter is there once it was seen.
func TestCounterOfZero(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	r.AddNumbers(rollup.Decision{}, []rollup.Number{{"counter_server_query_cache_hit", 0}})
	if got, want := snapshotOf(r).Counters, []rollup.CounterTotal{{"server_query_cache_hit", 0}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSize fills rollups with all that they take: Size is exactly that.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, o := range []rollup.Options{
		{},
		{Limits: rollup.Limits{Paths: 1, Stages: 1, Counters: 2}, PathStages: []string{}},
		{
			Limits: rollup.Limits{Paths: 7}, PathStages: []string{"mine", "rego_query_eval", "server_handler"},
			Stages:   []rollup.Stage{{Name: "mine"}, {Name: "server_handler"}, {Name: "mine_*"}},
			Counters: []string{"mine", "disk_read_keys", "mine"},
		},
	} {
		size, err := o.Size()
		if err != nil {
			t.Fatal(err)
		}
		var numbers []rollup.Number
		for _, s := range append(rollup.DefaultStages(), o.Stages...) {
			numbers = append(numbers, rollup.Number{Key: "timer_" + strings.TrimSuffix(s.Name, "*") + "_ns", Value: 1})
		}
		for _, c := range append(rollup.DefaultCounters(), o.Counters...) {
			numbers = append(numbers, rollup.Number{Key: "counter_" + c, Value: 1})
		}
		for i := range 10 {
			numbers = append(numbers, rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", i), Value: 1},
				rollup.Number{Key: fmt.Sprintf("counter_c%d", i), Value: 1})
		}
		r := newRollup(t, o)
		for i := range 100 {
			r.AddNumbers(rollup.Decision{Path: fmt.Sprint(i)}, numbers)
		}
		for _, code := range append(rollup.ErrorCodes(), "") {
			r.Add(rollup.Decision{Outcome: rollup.Error, Code: code}, nil)
		}
		c := contentsOf(t, r)
		got := rollup.Size{
			Paths: len(c.Outcomes), PathStages: len(c.PathStages) / len(c.Outcomes),
			Stages: len(c.Stages), Counters: len(c.Counters), Errors: len(c.Errors),
		}
		if got != size || len(c.PathStages)%len(c.Outcomes) != 0 {
			t.Errorf("%+v: there are %+v, size %+v", o, got, size)
		}
	}
	if _, err := (rollup.Options{Limits: rollup.Limits{Counters: -1}}).Size(); err == nil {
		t.Error("limits that no rollup can have")
	}
}

// TestLabelsDoNotDependOnOrder: with the default limits, names of stages and
// counters have the same labels in whatever order they come.
func TestLabelsDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	var numbers []rollup.Number
	for _, s := range rollup.DefaultStages() {
		numbers = append(numbers, rollup.Number{Key: "timer_" + strings.ReplaceAll(s.Name, "*", "x") + "_ns", Value: 1})
	}
	for _, c := range append(rollup.DefaultCounters(), "eval_op_x", "mine") {
		numbers = append(numbers, rollup.Number{Key: "counter_" + c, Value: 1})
	}
	for i := range 50 {
		numbers = append(numbers, rollup.Number{Key: fmt.Sprintf("timer_vendor_%d_ns", i), Value: 1})
	}
	var want *contents
	for seed := range uint64(20) {
		r, random := newRollup(t, rollup.Options{}), rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
		for i := range numbers {
			r.AddNumbers(rollup.Decision{Path: "p"}, numbers[i:i+1])
		}
		got := contentsOf(t, r)
		if want == nil {
			want = &got
		}
		requireSame(t, got, *want)
	}
}

// TestMergeOverflow: what does not fit is counted, beside what was counted
// before.
func TestMergeOverflow(t *testing.T) {
	t.Parallel()
	from := newRollup(t, rollup.Options{Limits: rollup.Limits{Paths: 2, Stages: 3, Counters: 2}})
	for _, path := range []string{"p", "q", "q", "r"} {
		from.AddNumbers(rollup.Decision{Path: path}, []rollup.Number{
			{"timer_a_ns", 5}, {"timer_b_ns", 0}, {"timer_c_ns", -1}, {"counter_c", 10}, {"counter_d", 7}, {"counter_d", -1},
		})
	}
	for name, test := range map[string]struct {
		limits rollup.Limits
		want   rollup.Overflow
	}{
		"paths":    {rollup.Limits{Paths: 1, Stages: 3, Counters: 2}, rollup.Overflow{Paths: 1 + 2, Invalid: 4}},
		"stages":   {rollup.Limits{Stages: 1, Counters: 2}, rollup.Overflow{Paths: 1, Stages: 8, Invalid: 4}},
		"counters": {rollup.Limits{Stages: 3, Counters: 1}, rollup.Overflow{Paths: 1, Counters: 28, Invalid: 4}},
	} {
		r := newRollup(t, rollup.Options{Limits: test.limits})
		if err := r.Merge(snapshotOf(from)); err != nil {
			t.Fatal(err)
		}
		if got := snapshotOf(r).Overflow; got != test.want {
			t.Errorf("%s: overflow %+v, want %+v", name, got, test.want)
		}
	}
}

// TestMergeOverflowOfSeveral: all counters that find no room are counted.
func TestMergeOverflowOfSeveral(t *testing.T) {
	t.Parallel()
	from := newRollup(t, rollup.Options{Limits: rollup.Limits{Counters: 3}})
	from.AddNumbers(rollup.Decision{}, []rollup.Number{{"counter_a", 1}, {"counter_b", 10}, {"counter_c", 100}})
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Counters: 1}})
	if err := r.Merge(snapshotOf(from)); err != nil {
		t.Fatal(err)
	}
	if got := snapshotOf(r).Overflow.Counters; got != 110 { // the first has got the label
		t.Errorf("%d, want 110", got)
	}
}

// TestRebound: other bounds replace those of all histograms, and only with the
// same ones can be merged.
func TestRebound(t *testing.T) {
	t.Parallel()
	bounds := func(ns ...int64) *exphist.Bounds {
		b, err := exphist.NewBounds(ns...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	numbers := []rollup.Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_parse_ns", 60}}
	from := newRollup(t, rollup.Options{Bounds: bounds(10, 1000)})
	from.AddNumbers(rollup.Decision{Path: "p"}, numbers)
	r := newRollup(t, rollup.Options{Bounds: bounds(10, 2000)})
	s := snapshotOf(from)
	right := newRollup(t, rollup.Options{Bounds: bounds(10, 2000)})
	right.AddNumbers(rollup.Decision{Path: "right"}, numbers)
	before := snapshotOf(right) // what is merged before what is wrong
	onlyPaths := &rollup.Snapshot{Paths: slices.Concat(before.Paths, s.Paths)}
	onlyStages := &rollup.Snapshot{Stages: slices.Concat(before.Stages, s.Stages)}
	for where, s := range map[string]*rollup.Snapshot{"paths": onlyPaths, "stages": onlyStages} {
		if err := r.Merge(s); err == nil || !strings.Contains(err.Error(), "explicit bounds") {
			t.Errorf("other bounds in %s: error %v", where, err)
		}
	}
	requireSame(t, contentsOf(t, r), newContents())
	s.Rebound(bounds(10, 2000))
	if err := r.Merge(s); err != nil {
		t.Fatal(err)
	}
	requireSame(t, contentsOf(t, r), contentsOf(t, from))
	r.AddNumbers(rollup.Decision{Path: "p"}, numbers)
	s = snapshotOf(r)
	for _, st := range append(s.Stages, s.Paths[0].Stages...) {
		if n := st.Histogram.CountAtMost(1); n != 1 || st.Histogram.Count() != 2 {
			t.Errorf("%s: %d of %d by the new bounds, want 1 of 2", st.Stage, n, st.Histogram.Count())
		}
	}
}

// TestMergeOfParts: a snapshot that was taken while a decision was added may
// have its durations and not yet its outcome.
func TestMergeOfParts(t *testing.T) {
	t.Parallel()
	from := newRollup(t, rollup.Options{})
	from.AddNumbers(rollup.Decision{}, []rollup.Number{{"timer_server_handler_ns", 100}})
	s := snapshotOf(from)
	s.Paths[0].Outcomes = [6]uint64{}
	r := newRollup(t, rollup.Options{})
	if err := r.Merge(s); err != nil {
		t.Fatal(err)
	}
	if got := snapshotOf(r).Paths; len(got) != 1 || len(got[0].Stages) != 1 {
		t.Errorf("%+v", got)
	}
	// Or a histogram into which nothing was recorded yet: there is none here
	// then.
	nothing := []rollup.StageTotal{{Stage: "rego_query_eval"}}
	if err := r.Merge(&rollup.Snapshot{Paths: []rollup.Path{{Label: rollup.Other, Stages: nothing}}, Stages: nothing}); err != nil {
		t.Fatal(err)
	}
	if got := snapshotOf(r); len(got.Stages) != 1 || len(got.Paths[0].Stages) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestMergeOfOtherPathStages: a path's stages that are not kept here are left
// out, and over all paths nothing is missing.
func TestMergeOfOtherPathStages(t *testing.T) {
	t.Parallel()
	numbers := []rollup.Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 60}}
	from := newRollup(t, rollup.Options{})
	from.AddNumbers(rollup.Decision{Path: "p"}, numbers)
	r := newRollup(t, rollup.Options{PathStages: []string{"rego_query_eval", "rego_query_parse"}})
	if err := r.Merge(snapshotOf(from)); err != nil {
		t.Fatal(err)
	}
	s := snapshotOf(r)
	if len(s.Paths[0].Stages) != 1 || stageOf(t, s.Paths[0].Stages, "rego_query_eval").Histogram.Count() != 1 {
		t.Errorf("%+v", s.Paths[0].Stages)
	}
	if self := stageOf(t, s.Stages, "server_handler").Self; self != 40 {
		t.Errorf("self time %d, want 40", self)
	}
}

// TestMergeOwnSnapshot doubles what there is.
func TestMergeOwnSnapshot(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	m := map[string]any{"timer_server_handler_ns": int64(10), "timer_rego_query_eval_ns": int64(4), "counter_c": 1}
	r.Add(rollup.Decision{Path: "p"}, m)
	if err := r.Merge(snapshotOf(r)); err != nil {
		t.Fatal(err)
	}
	want := newRollup(t, rollup.Options{})
	want.Add(rollup.Decision{Path: "p"}, m)
	want.Add(rollup.Decision{Path: "p"}, m)
	requireSame(t, contentsOf(t, r), contentsOf(t, want))
}

func TestMergeOfOtherUnit(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	r.Add(rollup.Decision{Path: "p"}, map[string]any{"timer_server_handler_ns": int64(10)})
	bad := snapshotOf(r)
	h := exphist.New(exphist.Integer)
	h.Record(3)
	h.Snapshot(&bad.Paths[0].Stages[0].Histogram)
	before := contentsOf(t, r)
	err := r.Merge(bad)
	if err == nil || !strings.Contains(err.Error(), `stage "server_handler" and path "p"`) {
		t.Errorf("error %v", err)
	}
	requireSame(t, contentsOf(t, r), before)
}

// TestSnapshotReuse: a snapshot that was of another rollup before, or of the
// same when it held less, is the same as a new one.
func TestSnapshotReuse(t *testing.T) {
	t.Parallel()
	var s rollup.Snapshot
	for seed := range uint64(50) {
		w := newWorld(seed)
		r := newRollup(t, w.options(w.limits()))
		for range 3 {
			for range w.IntN(20) {
				d, numbers := w.decision()
				r.AddNumbers(d, numbers[:w.IntN(len(numbers)+1)])
			}
			r.Snapshot(&s)
			requireSame(t, snapshotContents(t, &s), contentsOf(t, r))
		}
	}
}

// TestUnfinishedReuse: what a stage of a path had before, whoever put it there,
// is gone, as is what a stage without durations had.
func TestUnfinishedReuse(t *testing.T) {
	t.Parallel()
	full, r := newRollup(t, rollup.Options{}), newRollup(t, rollup.Options{})
	full.AddNumbers(rollup.Decision{}, []rollup.Number{{"timer_server_handler_ns", 100}})
	r.AddNumbers(rollup.Decision{}, []rollup.Number{{"timer_rego_query_eval_ns", 0}})
	s := snapshotOf(full)
	r.Snapshot(s)
	if st := &s.Stages[0]; len(s.Stages) != 1 || st.Histogram.Count() != 0 || st.Self != 0 || st.Unfinished != [3]uint64{1} {
		t.Errorf("%+v", s.Stages)
	}
	full.Snapshot(s)
	s.Paths[0].Stages[0].Unfinished[0] = 7
	full.Snapshot(s)
	if n := s.Paths[0].Stages[0].Unfinished; n != [3]uint64{} {
		t.Errorf("%d unfinished timers of a path", n)
	}
}

// TestAdmit gives labels before there are decisions, as long as there is room.
func TestAdmit(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Paths: 2}})
	for _, test := range []struct {
		path string
		want bool
	}{{"a", true}, {"b\xff", true}, {"c", false}, {"a", true}, {"b\xfe", true}, {rollup.Other, true}, {"", true}} {
		if got := r.Admit(test.path); got != test.want {
			t.Errorf("%q: %t, want %t", test.path, got, test.want)
		}
	}
	if got, want := r.Labels(), []string{"a", "b\uFFFD"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	if s := snapshotOf(r); len(s.Paths) != 2 || s.Overflow != (rollup.Overflow{}) {
		t.Errorf("%+v", s)
	}
}
