// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/rollup"
)

func newGroups(t testing.TB, l Limits) *Groups {
	t.Helper()
	g, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func newRollup(t testing.TB, o rollup.Options) *rollup.Rollup {
	t.Helper()
	r, err := rollup.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func snapshotOf(r *rollup.Rollup) *rollup.Snapshot {
	s := new(rollup.Snapshot)
	r.Snapshot(s)
	return s
}

// event is a decision for Groups.
type event struct {
	key     string
	time    int64
	outcome rollup.Outcome
	code    string
	numbers []rollup.Number
}

func addEvent(g *Groups, e event) {
	var measures []decisionlog.Measure
	for _, n := range e.numbers {
		measures = append(measures, decisionlog.Measure{Metric: g.Metric([]byte(n.Key)), Value: n.Value})
	}
	g.Add([]byte(e.key), e.time, e.outcome, e.code, measures)
}

// world makes random decisions.
type world struct{ *rand.Rand }

func newWorld(seed uint64) *world { return &world{rand.New(rand.NewPCG(seed, 0))} }

func (w *world) duration() int64 {
	switch w.IntN(8) {
	case 0:
		return 0
	case 1:
		return -w.Int64N(1000)
	default:
		return 1 + w.Int64N(1<<w.IntN(40))
	}
}

// event returns a random decision, some of whose names and keys are rare.
func (w *world) event() event {
	e := event{key: fmt.Sprint("p", w.IntN(11)), time: decisionlog.NoTime, outcome: rollup.Outcome(w.IntN(6))}
	e.code = []string{"", "internal_error", "unauthorized", "invented"}[w.IntN(4)]
	switch n := w.IntN(60); {
	case n < 4:
		e.key = ""
	case n < 8:
		e.key = rollup.Other
	case n < 26:
		e.key = fmt.Sprint("rare/", w.IntN(100))
	case n == 26:
		e.key = strings.Repeat("long", 300)
	case n == 27:
		e.key = "bad \xff\xfe"
	}
	add := func(oneOf int, format string, value int64) {
		if w.IntN(oneOf) == 0 {
			e.numbers = append(e.numbers, rollup.Number{Key: format, Value: value})
		}
	}
	for _, name := range []string{"eval_op_y", "eval_op_z", "partial_op_a", "query_compile_stage_b", "\xffs", "x1", "x2", "x3", "x4"} {
		add(3, "timer_"+name+"_ns", w.duration())
		add(8, "counter_"+name, w.Int64N(5)-1)
	}
	for _, stage := range []string{"server_handler", "rego_query_eval", "rego_partial_eval", "rego_query_compile", "other", "", strings.Repeat("n", 2000)} {
		add(3, "timer_"+stage+"_ns", w.duration())
	}
	for _, key := range []string{"counter_server_query_cache_hit", "counter_other", "histogram_h", "timer_", "unknown"} {
		add(8, key, w.duration())
	}
	w.Shuffle(len(e.numbers), func(i, j int) { e.numbers[i], e.numbers[j] = e.numbers[j], e.numbers[i] })
	return e
}

// times returns times of several kinds.
func (w *world) times(n int) []int64 {
	times, kind := make([]int64, n), w.IntN(5)
	for i := range times {
		switch kind {
		case 0: // a few hours
			times[i] = 1_700_000_000e9 + w.Int64N(10_000e9)
		case 1: // around 1970
			times[i] = w.Int64N(10_000e9) - 5000e9
		case 2: // all that there are
			times[i] = int64(w.Uint64())
		case 3: // the ends
			times[i] = []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, -1, 0}[w.IntN(5)]
		case 4: // lots far apart
			times[i] = w.Int64N(3)*1_000_000_000e9 + w.Int64N(100e9)
		}
		if w.IntN(10) == 0 {
			times[i] = decisionlog.NoTime
		}
	}
	return times
}

func (w *world) events(n int) []event {
	events, times := make([]event, n), w.times(n)
	for i := range events {
		events[i] = w.event()
		events[i].time = times[i]
	}
	return events
}

func (w *world) limits() Limits {
	return Limits{
		Groups: 1 + w.IntN(1<<w.IntN(8)), Names: 1 + w.IntN(1<<w.IntN(5)),
		Width: 1 + w.Int64N(60e9), Slices: 1 + w.IntN(20), Cells: 1 + w.IntN(200),
	}
}

// dump returns all that groups hold, as text.
func dump(g *Groups) string {
	var b strings.Builder
	for x := range g.All() {
		dumpGroup(&b, x)
	}
	dumpGroup(&b, g.Total())
	fmt.Fprintf(&b, "width %d, %+v\n", g.Width(), g.Overflow())
	return b.String()
}

func dumpGroup(b *strings.Builder, x *Group) {
	fmt.Fprintf(b, "group %q %v %+v %+v\n", x.Key, x.Outcomes, x.Errors, x.Counters)
	dumpStages(b, x.Stages)
	for _, s := range x.Slices {
		fmt.Fprintf(b, " slice %d %v %+v\n", s.Begin, s.Outcomes, s.Counters)
		dumpStages(b, s.Stages)
	}
}

func dumpStages(b *strings.Builder, stages []Stage) {
	for i := range stages {
		s := &stages[i]
		fmt.Fprintf(b, "  %q %s unfinished %d self %v\n", s.Name, histogramText(&s.Durations), s.Unfinished, s.Self)
	}
}

// histogramText returns all that a snapshot holds.
func histogramText(s *exphist.Snapshot) string {
	hi, lo := s.Sum()
	text := fmt.Append(nil, s.Layout(), s.Zeros(), s.Negatives(), s.Count(), hi, lo, s.Min(), s.Max())
	first, counts := s.Buckets()
	for i, n := range counts {
		if n > 0 || i == 0 || i == len(counts)-1 {
			text = strconv.AppendInt(append(text, ' '), int64(first+i), 10)
			text = strconv.AppendUint(append(text, ':'), n, 10)
		}
	}
	return string(text)
}

// groupsModel is what Groups are to hold, computed from all decisions at once
// by the rules of their documentation, with a Rollup for each slice of a group.
type groupsModel struct {
	width    int64
	overflow Overflow
	keys     []string // those that have a group, sorted; Other's too if it has anything
	cells    map[string]map[int64]*rollup.Rollup
	names    [2]map[string]bool // of timers and counters, beyond the tables
}

func parseName(key string) (kind int, name string) {
	if name, ok := strings.CutPrefix(key, "counter_"); ok {
		return 1, strings.ToValidUTF8(name, "\uFFFD")
	}
	name, ok := strings.CutPrefix(key, "timer_")
	if name, ok2 := strings.CutSuffix(name, "_ns"); ok && ok2 {
		return 0, strings.ToValidUTF8(name, "\uFFFD")
	}
	return -1, ""
}

// lowestHashes returns so many of the keys, those of the lowest hash.
func lowestHashes(keys map[string]bool, n int) map[string]bool {
	list := slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(keyHash([]byte(a)), keyHash([]byte(b))), strings.Compare(a, b))
	})
	lowest := map[string]bool{}
	for _, key := range list[:min(n, len(list))] {
		lowest[key] = true
	}
	return lowest
}

func floorDivide(a, b int64) int64 {
	return new(big.Int).Div(big.NewInt(a), big.NewInt(b)).Int64() // the remainder is not negative
}

func newGroupsModel(t *testing.T, l Limits, events []event) *groupsModel {
	t.Helper()
	m := &groupsModel{cells: map[string]map[int64]*rollup.Rollup{}}
	keyOf := func(e event) string {
		if key := strings.ToValidUTF8(e.key, "\uFFFD"); key != "" {
			return key
		}
		return rollup.Other
	}
	all, table := map[string]bool{}, [2]map[string]bool{{"": true, rollup.Other: true}, {"": true, rollup.Other: true}}
	for _, s := range rollup.DefaultStages() {
		table[0][s.Name] = true
	}
	for _, c := range rollup.DefaultCounters() {
		table[1][c] = true
	}
	var names [2]map[string]bool
	names[0], names[1] = map[string]bool{}, map[string]bool{}
	for _, e := range events {
		if key := keyOf(e); key != rollup.Other && len(key) <= 1024 {
			all[key] = true
		}
		for _, n := range e.numbers {
			if kind, name := parseName(n.Key); kind >= 0 && !table[kind][name] && len(name) <= 1024 && n.Value >= int64(kind) {
				names[kind][name] = true
			}
		}
	}
	kept := lowestHashes(all, l.Groups)
	groups := max(len(kept), 1)
	for kind := range names {
		m.names[kind] = lowestHashes(names[kind], min(l.Names, max(1, l.Names*l.Cells/groups)))
	}

	most := min(l.Slices, max(1, l.Cells*64/(groups*(64+len(m.names[0])+len(m.names[1])))))
	m.width = l.Width
	for {
		slices := map[int64]bool{}
		for _, e := range events {
			if e.time != decisionlog.NoTime {
				slices[floorDivide(e.time, m.width)] = true
			}
		}
		if len(slices) <= most || m.width > math.MaxInt64/2 {
			break
		}
		m.width *= 2
	}

	for _, e := range events {
		key := keyOf(e)
		if key != rollup.Other && !kept[key] {
			key = rollup.Other
			m.overflow.Decisions++
		}
		begin := e.time
		if begin != decisionlog.NoTime {
			b := new(big.Int).Mul(big.NewInt(floorDivide(e.time, m.width)), big.NewInt(m.width))
			begin = math.MinInt64 + 1
			if b.Cmp(big.NewInt(begin)) > 0 {
				begin = b.Int64()
			}
		}
		if m.cells[key] == nil {
			m.cells[key] = map[int64]*rollup.Rollup{}
			m.keys = append(m.keys, key)
		}
		if m.cells[key][begin] == nil {
			m.cells[key][begin] = newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 1000, Counters: 1000}})
		}
		numbers := slices.DeleteFunc(slices.Clone(e.numbers), func(n rollup.Number) bool { return n.Value < 0 })
		m.cells[key][begin].AddNumbers(rollup.Decision{Path: "p", Outcome: e.outcome, Code: e.code}, numbers)
		for _, n := range e.numbers {
			switch kind, name := parseName(n.Key); {
			case kind < 0 || table[kind][name] || m.names[kind][name]:
			case kind == 0 && n.Value >= 0:
				m.overflow.Stages++
			case kind == 1 && n.Value > 0:
				m.overflow.Counters += uint64(n.Value)
			}
		}
	}
	slices.SortFunc(m.keys, func(a, b string) int {
		return cmp.Or(-cmp.Compare(b2i(a == rollup.Other), b2i(b == rollup.Other)), strings.Compare(a, b))
	})
	return m
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cellContents is what a cell holds, with all stages as one that a Rollup or
// the Groups have as Other.
type cellContents struct {
	outcomes   [6]uint64
	counters   map[string]uint64
	durations  map[string]string
	unfinished map[string]uint64
	self       map[string]uint64
}

func contentsOfCell(t *testing.T, m *groupsModel, outcomes [6]uint64, counters []Counter, stages []Stage) cellContents {
	t.Helper()
	c := cellContents{outcomes, map[string]uint64{}, map[string]string{}, map[string]uint64{}, map[string]uint64{}}
	isInstrumentation := func(name string) bool {
		return strings.HasPrefix(name, "eval_op_") || strings.HasPrefix(name, "partial_op_") || strings.HasPrefix(name, "query_compile_stage_")
	}
	label := func(kind int, name string) string {
		_, inTable := defaultNames[kind][name]
		if inTable || m.names[kind][name] && !isInstrumentation(name) {
			return name
		}
		return rollup.Other
	}
	for _, counter := range counters {
		if counter.Total != (Sum{}) {
			c.counters[label(1, counter.Name)] += counter.Total.Lo
		}
	}
	histograms := map[string]*exphist.Snapshot{}
	for i := range stages {
		s := &stages[i]
		name := label(0, s.Name)
		if histograms[name] == nil {
			histograms[name] = new(exphist.Snapshot)
		}
		if s.Durations.Count()+s.Durations.Negatives() > 0 { // one that is empty may have no layout
			if err := histograms[name].Merge(&s.Durations); err != nil {
				t.Fatal(err)
			}
		}
		c.unfinished[name] += s.Unfinished
		c.self[name] += s.Self.Lo
	}
	for name, h := range histograms {
		c.durations[name] = histogramText(h)
	}
	return c
}

var defaultNames = [2]map[string]bool{{}, {}}

func init() {
	for _, s := range rollup.DefaultStages() {
		defaultNames[0][s.Name] = true
	}
	for _, c := range rollup.DefaultCounters() {
		defaultNames[1][c] = true
	}
}

// stagesOf returns a Rollup's stages and counters as Groups have them.
func stagesOf(s *rollup.Snapshot) (counters []Counter, stages []Stage) {
	for _, c := range s.Counters {
		counters = append(counters, Counter{Name: c.Counter, Total: Sum{Lo: c.Total}})
	}
	for i := range s.Stages {
		t := &s.Stages[i]
		stages = append(stages, Stage{
			Name: t.Stage, Durations: t.Histogram, Self: Sum{Lo: t.Self},
			Unfinished: t.Unfinished[0] + t.Unfinished[1] + t.Unfinished[2],
		})
	}
	return counters, stages
}

// check compares groups with the model.
func (m *groupsModel) check(t *testing.T, g *Groups) {
	t.Helper()
	if g.Width() != m.width || g.Overflow() != m.overflow {
		t.Fatalf("width %d and %+v, want %d and %+v", g.Width(), g.Overflow(), m.width, m.overflow)
	}
	var keys []string
	names := [2]map[string]bool{{}, {}}
	for x := range g.All() {
		keys = append(keys, x.Key)
		total := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 2000, Counters: 2000}})
		begins := slices.Sorted(maps.Keys(m.cells[x.Key]))
		if len(begins) != len(x.Slices) {
			t.Fatalf("group %q has %d slices, want %v", x.Key, len(x.Slices), begins)
		}
		for i, s := range x.Slices {
			if s.Begin != begins[i] {
				t.Fatalf("group %q: slice %d begins at %d, want %d", x.Key, i, s.Begin, begins[i])
			}
			want := snapshotOf(m.cells[x.Key][s.Begin])
			if err := total.Merge(want); err != nil {
				t.Fatal(err)
			}
			counters, stages := stagesOf(want)
			requireSameCell(t, contentsOfCell(t, m, s.Outcomes, s.Counters, s.Stages), contentsOfCell(t, m, want.Paths[0].Outcomes, counters, stages))
			noteNames(t, names, s.Counters, s.Stages)
		}
		want := snapshotOf(total)
		counters, stages := stagesOf(want)
		requireSameCell(t, contentsOfCell(t, m, x.Outcomes, x.Counters, x.Stages), contentsOfCell(t, m, want.Paths[0].Outcomes, counters, stages))
		noteNames(t, names, x.Counters, x.Stages)
		slices.SortFunc(want.Errors, func(a, b rollup.ErrorTotal) int { return strings.Compare(a.Code, b.Code) })
		if !slices.Equal(x.Errors, want.Errors) {
			t.Fatalf("group %q: errors %+v, want %+v", x.Key, x.Errors, want.Errors)
		}
	}
	if !slices.Equal(keys, m.keys) {
		t.Fatalf("groups %q, want %q", keys, m.keys)
	}
	for kind := range names {
		for name := range names[kind] {
			if !m.names[kind][name] && !defaultNames[kind][name] && name != rollup.Other {
				t.Fatalf("kind %d: %q has a name of its own", kind, name)
			}
		}
		for name := range m.names[kind] {
			if !names[kind][name] {
				t.Fatalf("kind %d: %q has no name of its own", kind, name)
			}
		}
	}
}

func noteNames(t *testing.T, names [2]map[string]bool, counters []Counter, stages []Stage) {
	t.Helper()
	if !slices.IsSortedFunc(counters, func(a, b Counter) int { return strings.Compare(a.Name, b.Name) }) ||
		!slices.IsSortedFunc(stages, func(a, b Stage) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatal("not sorted by name")
	}
	for _, c := range counters {
		names[1][c.Name] = true
		if c.Total == (Sum{}) {
			t.Fatalf("counter %q is 0", c.Name)
		}
	}
	for i := range stages {
		s := &stages[i]
		names[0][s.Name] = true
		if hi, lo := s.Durations.Sum(); strings.Contains(s.Name, "_op_") && s.Self != (Sum{Hi: hi, Lo: lo}) {
			t.Fatalf("stage %q contains others", s.Name)
		}
	}
}

func requireSameCell(t *testing.T, got, want cellContents) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got\n%+v\nwant\n%+v", got, want)
	}
}

// TestModel: with limits of all kinds, Groups hold what the model says,
// whatever the order of the decisions, and however they were spread over Groups
// that were merged: to the last byte.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		w := newWorld(seed)
		o := w.limits()
		events := w.events(w.IntN(200))
		model := newGroupsModel(t, o, events)
		first := ""
		for round := range 4 {
			parts := make([]*Groups, 1+round*w.IntN(4))
			for i := range parts {
				parts[i] = newGroups(t, o)
			}
			w.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			for _, e := range events {
				if w.IntN(30) == 0 && len(parts) > 1 {
					mergeNext(t, w, &parts)
				}
				part := parts[w.IntN(len(parts))]
				if w.IntN(20) == 0 { // asked for, but in no decision
					part.Metric([]byte(fmt.Sprintf("timer_unused%d_ns", w.IntN(100))))
				}
				if w.IntN(50) == 0 { // read in between
					part.Overflow()
				}
				addEvent(part, e)
			}
			for len(parts) > 1 {
				mergeNext(t, w, &parts)
			}
			t.Logf("seed %d, round %d, options %+v", seed, round, o)
			text := dump(parts[0])
			model.check(t, parts[0])
			if first == "" {
				first = text
			}
			if text != first {
				t.Fatalf("got\n%s\nwant\n%s", text, first)
			}
		}
	}
}

// TestPlans: decisions that have one another's metrics, in the same
// order, come to what the model says, though their metrics are looked at once.
// Stages are in one another, may be 0, and lose their room between decisions
// and within one, while their numbers stay until they are forgotten. Each key
// has a number of its own.
func TestPlans(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		w := newWorld(seed)
		o := Limits{
			Groups: 4, Names: 1 + w.IntN(6), Width: 60e9, Slices: 240, Cells: 8192,
		}
		var shapes [3][]string
		for i := range shapes {
			shapes[i] = w.nestedKeys()
		}
		events := make([]event, 100)
		for i := range events {
			events[i] = event{key: fmt.Sprint("a rather long path/", w.IntN(6)), time: w.Int64N(600e9)}
			for _, key := range shapes[w.IntN(1+i*len(shapes)/len(events))] {
				value := 1 + w.Int64N(1<<w.IntN(40))
				if w.IntN(8) == 0 {
					value = w.Int64N(3) - 1
				}
				events[i].numbers = append(events[i].numbers, rollup.Number{Key: key, Value: value})
			}
		}
		g, numbers, keys := newGroups(t, o), map[string]int32{}, map[int32]string{}
		for _, e := range events {
			if w.IntN(30) == 0 {
				g.Forget()
				clear(numbers)
				clear(keys)
			}
			var measures []decisionlog.Measure
			for _, n := range e.numbers {
				if _, ok := numbers[n.Key]; !ok {
					number := g.Metric([]byte(n.Key))
					if other := keys[number]; other != "" {
						t.Fatalf("%q and %q both have number %d", other, n.Key, number)
					}
					numbers[n.Key], keys[number] = number, n.Key
				}
				measures = append(measures, decisionlog.Measure{Metric: numbers[n.Key], Value: n.Value})
			}
			g.Add([]byte(e.key), e.time, e.outcome, e.code, measures)
		}
		t.Logf("seed %d, shapes %q", seed, shapes)
		newGroupsModel(t, o, events).check(t, g)
	}
}

// nestedKeys returns metrics most of which are in one another, and some of
// which are in no table or there twice.
func (w *world) nestedKeys() (keys []string) {
	for _, key := range []string{
		"timer_server_handler_ns", "timer_sdk_decision_eval_ns", "timer_rego_query_eval_ns", "timer_rego_external_resolve_ns",
		"timer_wasm_vm_eval_ns", "timer_wasm_vm_eval_call_ns", "timer_other_ns", "counter_server_query_cache_hit",
	} {
		if w.IntN(2) == 0 {
			keys = append(keys, key)
		}
	}
	for i := range 10 {
		if w.IntN(6) == 0 {
			keys = append(keys, fmt.Sprintf("timer_eval_op_%d_ns", i))
		}
		if w.IntN(6) == 0 {
			keys = append(keys, fmt.Sprintf("timer_x%d_ns", i))
		}
	}
	if len(keys) > 0 && w.IntN(4) == 0 {
		keys = append(keys, keys[w.IntN(len(keys))])
	}
	w.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// mergeNext merges one of the parts into the one before.
func mergeNext(t *testing.T, w *world, parts *[]*Groups) {
	t.Helper()
	i := w.IntN(len(*parts) - 1)
	if err := (*parts)[i].Merge((*parts)[i+1]); err != nil {
		t.Fatal(err)
	}
	*parts = slices.Delete(*parts, i+1, i+2)
}

// TestAddAfterMerge: a group that was the last one added to, and lost its
// room by merging, gets nothing more.
func TestAddAfterMerge(t *testing.T) {
	t.Parallel()
	kept, displaced := []byte("a"), []byte("b")
	if keyHash(kept) > keyHash(displaced) {
		kept, displaced = displaced, kept
	}
	o := Limits{Groups: 1}
	g, more := newGroups(t, o), newGroups(t, o)
	g.Add(displaced, 0, rollup.Allowed, "", nil)
	more.Add(kept, 0, rollup.Allowed, "", nil)
	if err := g.Merge(more); err != nil {
		t.Fatal(err)
	}
	g.Add(displaced, 0, rollup.Allowed, "", nil)
	if got := g.Overflow().Decisions; got != 2 {
		t.Errorf("%d decisions had no room, want 2", got)
	}
	if got := g.Total().Outcomes[rollup.Allowed]; got != 3 {
		t.Errorf("%d decisions, want 3", got)
	}
}

// TestSliceBegins: a slice has the times from a multiple of the width to
// before the next one, also before 1970, whatever slice the decision before was
// in.
func TestSliceBegins(t *testing.T) {
	t.Parallel()
	begins := map[int64]int64{-21: -30, -20: -20, -19: -20, -11: -20, -10: -10, -9: -10, -1: -10, 0: 0, 1: 0, 9: 0, 10: 10, 11: 10}
	for before := range begins {
		for time, begin := range begins {
			g := newGroups(t, Limits{Width: 10})
			g.Add([]byte("before"), before, rollup.Allowed, "", nil)
			g.Add([]byte("k"), time, rollup.Allowed, "", nil)
			if got := g.Get("k").Slices[0].Begin; got != begin {
				t.Errorf("the slice of %d begins at %d after %d, want %d", time, got, before, begin)
			}
		}
	}
	const first int64 = decisionlog.NoTime + 1
	for _, width := range []int64{1, 2, 3, 1 << 62} { // the first slice begins with the times, which are not NoTime
		g := newGroups(t, Limits{Width: width})
		g.Add([]byte("k"), first, rollup.Allowed, "", nil)
		if got := g.Get("k").Slices[0].Begin; got != first {
			t.Errorf("the first slice of width %d begins at %d, want %d", width, got, first)
		}
	}
}

// TestNamesWidenSlices: more names make slices wider at once, those of
// stages and those of counters.
func TestNamesWidenSlices(t *testing.T) {
	t.Parallel()
	g := newGroups(t, Limits{Width: 10, Cells: 64})
	for i := range int64(64) {
		g.Add([]byte("k"), i*10, rollup.Allowed, "", nil)
	}
	if g.Width() != 10 {
		t.Errorf("without names the width is %d, want 10", g.Width())
	}
	for kind, key := range []string{"timer_t%d_ns", "counter_c%d"} {
		for i := range 64 {
			g.Add([]byte("k"), 0, rollup.Allowed, "", []decisionlog.Measure{{Metric: g.Metric(fmt.Appendf(nil, key, i)), Value: 1}})
		}
		if want := int64(20 << kind); g.Width() != want {
			t.Errorf("with 64 names of each of %d kinds the width is %d, want %d", 1+kind, g.Width(), want)
		}
	}
}

// withoutStages returns a group whose slices have neither counters nor stages.
func withoutStages(x *Group) *Group {
	for i := range x.Slices {
		s := &x.Slices[i]
		s.Counters, s.Stages = nil, nil
	}
	return x
}

// TestSums: sums are the groups, and the total, without the counters and
// stages of their slices.
func TestSums(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		w := newWorld(seed)
		g := newGroups(t, w.limits())
		for _, e := range w.events(100) {
			addEvent(g, e)
		}
		var got, one, want strings.Builder
		var again Group
		for x := range g.Sums() {
			dumpGroup(&got, x)
			if !g.ReadSum(x.Key, &again) {
				t.Fatalf("%q has no sum", x.Key)
			}
			dumpGroup(&one, &again)
		}
		for x := range g.All() {
			dumpGroup(&want, withoutStages(x))
		}
		dumpGroup(&got, g.TotalSum())
		dumpGroup(&one, g.TotalSum())
		dumpGroup(&want, withoutStages(g.Total()))
		if got.String() != want.String() || one.String() != want.String() {
			t.Fatalf("seed %d: got\n%s\none by one\n%s\nwant\n%s", seed, got.String(), one.String(), want.String())
		}
		if g.ReadSum("no such key", &again) {
			t.Error("a key without a group has a sum")
		}
	}
}

// TestTotal: the total is all groups together, as if there were one.
func TestTotal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		w := newWorld(seed)
		o := w.limits()
		o.Names, o.Cells = 1000, 1<<20 // so that all names have room
		g := newGroups(t, o)
		events := w.events(100)
		for _, e := range events {
			addEvent(g, e)
		}
		total := g.Total()
		before := dump(g)
		if total.Key != "" {
			t.Fatalf("the total's key is %q", total.Key)
		}
		one := newGroups(t, o)
		for _, e := range events {
			e.key = "one"
			addEvent(one, e)
		}
		for x := range one.All() {
			x.Key = ""
			var got, want strings.Builder
			dumpGroup(&got, total)
			dumpGroup(&want, x)
			if got.String() != want.String() {
				t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got.String(), want.String())
			}
		}
		total.Stages[0].Durations.Reset()
		if dump(g) != before {
			t.Fatal("the total shares memory with the groups")
		}
	}
}

// TestOptions: what is out of range is an error that names it.
func TestOptions(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]Limits{
		"limits: Groups is -1": {Groups: -1},
		"limits: Names":        {Names: math.MaxInt},
		"limits: Width is -5":  {Width: -5},
		"limits: Slices is -1": {Slices: -1},
		"limits: Cells is -1":  {Cells: -1},
	} {
		if _, err := New(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

// TestMergeErrors: groups of other options cannot be merged, nor groups
// with themselves, and nothing changes.
func TestMergeErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	g := newGroups(t, Limits{})
	for _, e := range w.events(50) {
		addEvent(g, e)
	}
	before := dump(g)
	for _, o := range []*Groups{
		g,
		newGroups(t, Limits{Cells: 5}),
	} {
		if err := g.Merge(o); err == nil {
			t.Error("no error")
		}
	}
	if dump(g) != before {
		t.Error("the groups have changed")
	}
	defaults := newGroups(t, Limits{Groups: 65_536, Width: 60e9})
	if err := g.Merge(defaults); err != nil {
		t.Error(err)
	}
	if dump(g) != before {
		t.Error("empty groups change what they are merged into")
	}
}

// TestClone: a clone shares no memory with what All uses again.
func TestClone(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	g := newGroups(t, Limits{})
	for _, e := range w.events(200) {
		addEvent(g, e)
	}
	var clones []*Group
	var texts []string
	for x := range g.All() {
		clones = append(clones, x.Clone())
		var b strings.Builder
		dumpGroup(&b, x)
		texts = append(texts, b.String())
	}
	for i, x := range clones {
		var b strings.Builder
		dumpGroup(&b, x)
		if b.String() != texts[i] {
			t.Fatalf("got\n%s\nwant\n%s", b.String(), texts[i])
		}
	}
	for range g.All() {
		break // stopping early is allowed
	}
}

// TestIgnore: what is no metric of these groups is left alone.
func TestIgnore(t *testing.T) {
	t.Parallel()
	g := newGroups(t, Limits{})
	for _, key := range []string{"", "histogram_h", "timer_x", "timer_x_ms", "ns"} {
		if n := g.Metric([]byte(key)); n >= 0 {
			t.Errorf("%q has number %d", key, n)
		}
	}
	counter, timer := g.Metric([]byte("counter_c")), g.Metric([]byte("timer_t_ns"))
	g.Add([]byte("k"), 0, 99, "", []decisionlog.Measure{{Metric: -1, Value: 5}, {Metric: math.MinInt32, Value: 5}, {Metric: math.MaxInt32, Value: 5},
		{Metric: counter, Value: 0}, {Metric: counter, Value: -1}, {Metric: timer, Value: -1},
	})
	for x := range g.All() {
		if x.Outcomes != [6]uint64{rollup.OtherResult: 1} || len(x.Stages) != 0 || len(x.Counters) != 0 {
			t.Errorf("got %+v", x)
		}
	}
}

// TestManyMeasures: a decision may have any number of metrics, and its
// counters may add up to more than 64 bits.
func TestManyMeasures(t *testing.T) {
	t.Parallel()
	g := newGroups(t, Limits{Names: 5000})
	counter := decisionlog.Measure{Metric: g.Metric([]byte("counter_c")), Value: math.MaxInt64}
	for range 4 {
		measures := []decisionlog.Measure{counter}
		for i := range 3000 {
			measures = append(measures, decisionlog.Measure{Metric: g.Metric(fmt.Appendf(nil, "timer_t%d_ns", i)), Value: int64(i)})
		}
		g.Add([]byte("k"), 0, rollup.Allowed, "", measures)
	}
	x := g.Total()
	if want := (Sum{Hi: 1, Lo: math.MaxUint64 - 3}); len(x.Counters) != 1 || x.Counters[0].Total != want { // 4·(2^63−1) = 2·2^64 − 4
		t.Errorf("counters %+v, want %v", x.Counters, want)
	}
	if len(x.Stages) != 3000 || x.Stages[7].Durations.Count()+x.Stages[7].Unfinished != 4 {
		t.Errorf("%d stages", len(x.Stages))
	}
}

// TestSelfTimes: where stages lie within those that contain them, the
// self times of all stages add up to what the outermost took, in 128 bits, also
// if the time in between has no timer. A family's stages lie where the family
// does.
func TestSelfTimes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		w := newWorld(seed)
		g := newGroups(t, Limits{})
		outermost := new(big.Int)
		for range 1 + w.IntN(30) {
			e := event{key: "k"}
			// within adds stages, one after the other, to one that took so
			// long.
			within := func(whole int64, stages ...string) (took []int64) {
				for _, stage := range stages {
					n := w.Int64N(whole + 1)
					whole -= n
					took = append(took, n)
					if w.IntN(4) > 0 {
						e.numbers = append(e.numbers, rollup.Number{Key: "timer_" + stage + "_ns", Value: n})
					}
				}
				return took
			}
			whole := 1 + w.Int64N(1<<(1+w.IntN(62)))
			outermost.Add(outermost, big.NewInt(whole))
			e.numbers = append(e.numbers, rollup.Number{Key: "timer_server_handler_ns", Value: whole})
			took := within(whole, "rego_query_eval", "rego_query_compile", "rego_input_parse")
			within(took[0], "eval_op_plug", "rego_builtin_http_send", "eval_op_resolve")
			within(took[1], "query_compile_stage_x", "query_compile_stage_y")
			w.Shuffle(len(e.numbers), func(i, j int) { e.numbers[i], e.numbers[j] = e.numbers[j], e.numbers[i] })
			addEvent(g, e)
		}
		for x := range g.All() {
			var self Sum
			for i := range x.Stages {
				self = self.Plus(x.Stages[i].Self)
			}
			if got := sumOf(self.Hi, self.Lo); got.Cmp(outermost) != 0 {
				t.Fatalf("seed %d: self times add up to %v, the outermost stages to %v", seed, got, outermost)
			}
		}
	}
}

func sumOf(hi, lo uint64) *big.Int {
	n := new(big.Int).SetUint64(hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(lo))
}
