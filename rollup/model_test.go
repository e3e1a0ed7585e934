// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// model is a rollup written for clarity. It finds labels and self times by the
// rules of the package's documentation.
type model struct {
	limit   int               // of paths
	parents map[string]string // of the stages of the table
	kept    []string
	paths   []string

	contents
}

// contents is the content of a snapshot or a model, without its order.
type contents struct {
	Outcomes   map[string][6]uint64
	Stages     map[string]modelCell
	PathStages map[[2]string]modelCell // by path and stage
	Unfinished map[string][3]uint64    // by stage
	Counters   map[string]uint64
	Errors     map[string]uint64
	Overflow   rollup.Overflow
}

func newContents() contents {
	return contents{
		map[string][6]uint64{}, map[string]modelCell{}, map[[2]string]modelCell{}, map[string][3]uint64{},
		map[string]uint64{}, map[string]uint64{}, rollup.Overflow{},
	}
}

type modelCell struct {
	count, negatives, sum, self uint64
	least, most                 int64
}

func (c modelCell) with(value, self int64) modelCell {
	if value < 0 {
		c.negatives++
		return c
	}
	if c.count == 0 || value < c.least {
		c.least = value
	}
	c.most = max(c.most, value)
	c.count++
	c.sum += uint64(value)
	c.self += uint64(max(self, 0))
	return c
}

func newModel(w *world, paths int) *model {
	return &model{limit: paths, parents: w.parents, kept: w.kept, contents: newContents()}
}

// label returns the label of a stage or counter.
func label(name string, known bool, overflow *uint64, amount uint64) string {
	switch {
	case known:
		return name
	case name != "" && name != rollup.Other && !strings.HasPrefix(name, "eval_op_"):
		*overflow += amount
	}
	return rollup.Other
}

func (m *model) path(path string) string {
	switch {
	case path == "" || path == rollup.Other:
		return rollup.Other
	case slices.Contains(m.paths, path):
		return path
	case len(m.paths) == m.limit:
		return rollup.Other
	}
	m.paths = append(m.paths, path)
	return path
}

func (m *model) add(d rollup.Decision) {
	type timer struct {
		stage string
		value int64
	}
	timers := map[string]timer{}
	for _, n := range d.Numbers {
		if counter, ok := strings.CutPrefix(n.Key, "counter_"); ok {
			if n.Value < 0 {
				m.Overflow.Invalid++
				continue
			}
			known := slices.Contains(stages.DefaultCounters(), counter)
			m.Counters[label(counter, known, &m.Overflow.Counters, uint64(n.Value))] += uint64(n.Value)
			continue
		}
		stage, isTimer := strings.CutPrefix(n.Key, "timer_")
		if stage, ok := strings.CutSuffix(stage, "_ns"); isTimer && ok {
			_, known := m.parents[stage]
			known = known && stage != "eval_op_x" // which is a family's
			timers[stage] = timer{label(stage, known, &m.Overflow.Stages, 1), n.Value}
		}
	}

	path := m.path(d.Path)
	if d.Overflow || path == rollup.Other && d.Path != "" && d.Path != rollup.Other {
		m.Overflow.Paths++
	}
	outcomes := m.Outcomes[path]
	if d.Outcome > outcome.Cancelled {
		d.Outcome = outcome.Neither
	}
	outcomes[d.Outcome]++
	m.Outcomes[path] = outcomes
	if d.Outcome == outcome.Failed {
		code := d.Code
		if !slices.Contains(stages.ErrorCodes(), code) {
			code = rollup.Other
		}
		m.Errors[code]++
	}
	isKept := func(stage string) bool { return slices.Contains(m.kept, stage) }
	all := func(string) bool { return true }
	// self returns a stage's time without the contained stages that count.
	self := func(stage string, counts func(string) bool) int64 {
		rest := timers[stage].value
		for inner, t := range timers {
			if inner == stage || t.value <= 0 || !counts(inner) {
				continue
			}
			around := m.parents[inner]
			for around != "" && !(counts(around) && timers[around].value > 0) {
				around = m.parents[around]
			}
			if around == stage {
				rest -= t.value
			}
		}
		return rest
	}
	for stage, t := range timers {
		if t.value == 0 {
			cause := causeUnknown
			switch {
			case (d.Query || d.Path == outcome.Query) && stage == "server_handler":
				cause = causeQuery
			case d.Outcome == outcome.Failed || d.Outcome == outcome.Cancelled:
				cause = causeFailed
			}
			u := m.Unfinished[t.stage]
			u[cause]++
			m.Unfinished[t.stage] = u
			continue
		}
		m.Stages[t.stage] = m.Stages[t.stage].with(t.value, self(stage, all))
		if isKept(stage) {
			key := [2]string{path, stage}
			m.PathStages[key] = m.PathStages[key].with(t.value, self(stage, isKept))
		}
	}
}

func cellOf(t *testing.T, st *rollup.StageTotal) modelCell {
	t.Helper()
	hi, lo := st.Histogram.Sum()
	if hi != 0 {
		t.Errorf("the sum of stage %q exceeds 64 bits", st.Stage)
	}
	return modelCell{
		count: st.Histogram.Count(), negatives: st.Histogram.Negatives(),
		sum: lo, self: st.Self, least: st.Histogram.Min(), most: st.Histogram.Max(),
	}
}

var causes = []string{causeUnknown: "unknown", causeQuery: "query", causeFailed: "failed"}

const (
	causeUnknown = iota
	causeQuery
	causeFailed
)

func outcomesOf(p *rollup.Path) (all [6]uint64) {
	for o, n := range p.Outcomes() {
		all[o] = n
	}
	return all
}

func unfinishedOf(st *rollup.StageTotal) (all [3]uint64) {
	for cause, n := range st.Unfinished() {
		if n == 0 {
			panic("there is a cause without timers")
		}
		all[slices.Index(causes, cause)] = n
	}
	return all
}

func contentsOf(t *testing.T, r *rollup.Rollup) contents {
	t.Helper()
	return snapshotContents(t, snapshotOf(r))
}

func snapshotContents(t *testing.T, s *rollup.Snapshot) contents {
	t.Helper()
	c := newContents()
	c.Overflow = s.Overflow
	for i := range s.Paths {
		p := &s.Paths[i]
		if _, ok := c.Outcomes[p.Label]; ok {
			t.Errorf("path %q is there twice", p.Label)
		}
		c.Outcomes[p.Label] = outcomesOf(p)
		for j := range p.Stages {
			key := [2]string{p.Label, p.Stages[j].Stage}
			if _, ok := c.PathStages[key]; ok {
				t.Errorf("%v is there twice", key)
			}
			c.PathStages[key] = cellOf(t, &p.Stages[j])
			if unfinishedOf(&p.Stages[j]) != [3]uint64{} {
				t.Errorf("%v has unfinished timers", key)
			}
		}
	}
	for i := range s.Stages {
		st := &s.Stages[i]
		cell := cellOf(t, st)
		if _, ok := c.Stages[st.Stage]; ok {
			t.Errorf("stage %q is there twice", st.Stage)
		}
		if cell != (modelCell{}) {
			c.Stages[st.Stage] = cell
		}
		if n := unfinishedOf(st); n != [3]uint64{} {
			c.Unfinished[st.Stage] = n
		}
	}
	for _, total := range s.Counters {
		if _, ok := c.Counters[total.Name]; ok {
			t.Errorf("counter %q is there twice", total.Name)
		}
		c.Counters[total.Name] = total.Total
	}
	for _, e := range s.Errors {
		c.Errors[e.Name] = e.Total
	}
	return c
}

func requireSame(t *testing.T, got, want contents) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got\n%+v\nwant\n%+v", got, want)
	}
}

// checkSize fails if a rollup holds more than its options allow.
func checkSize(t *testing.T, c contents, o rollup.Options) {
	t.Helper()
	size, err := o.Size()
	if err != nil {
		t.Fatal(err)
	}
	byPath, stages := map[string]int{}, map[string]bool{}
	for key := range c.PathStages {
		byPath[key[0]]++
		if byPath[key[0]] > size.PathStages {
			t.Errorf("path %q has %d stages, want %d or fewer", key[0], byPath[key[0]], size.PathStages)
		}
	}
	for stage := range c.Stages {
		stages[stage] = true
	}
	for stage := range c.Unfinished {
		stages[stage] = true
	}
	for _, bound := range []struct {
		what     string
		got, max int
	}{
		{"paths", len(c.Outcomes), size.Paths},
		{"stages", len(stages), size.Stages},
		{"counters", len(c.Counters), size.Counters},
		{"codes", len(c.Errors), size.Errors},
	} {
		if bound.got > bound.max {
			t.Errorf("there are %d %s, want %d or fewer", bound.got, bound.what, bound.max)
		}
	}
}

// world makes random decisions.
type world struct {
	*rand.Rand
	stages  []rollup.Stage
	parents map[string]string
	kept    []string
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), parents: map[string]string{"server_handler": "", "eval_op_x": "server_handler"}}
	for i := range 8 {
		name, parent := fmt.Sprintf("s%d", i), ""
		if i > 0 && w.IntN(3) > 0 {
			parent = fmt.Sprintf("s%d", w.IntN(i))
		}
		w.stages = append(w.stages, rollup.Stage{Name: name, Parent: parent})
		w.parents[name] = parent
	}
	w.Shuffle(len(w.stages), func(i, j int) { w.stages[i], w.stages[j] = w.stages[j], w.stages[i] })
	w.kept = []string{"server_handler", "s0", "s1", "s2", "s3", "s4"}
	w.Shuffle(len(w.kept), func(i, j int) { w.kept[i], w.kept[j] = w.kept[j], w.kept[i] })
	w.kept = w.kept[:w.IntN(len(w.kept))]
	return w
}

func (w *world) options(paths int) rollup.Options {
	return rollup.Options{Paths: paths, Stages: w.stages, PathStages: w.kept}
}

func (w *world) path() string {
	switch n := w.IntN(14); n {
	case 0:
		return rollup.Other
	case 1:
		return ""
	case 2:
		return outcome.Query
	default:
		return fmt.Sprintf("p%d", n)
	}
}

// decision returns a decision whose metrics are in random order, and no key is
// there twice. A stage may take longer than the one around it. The outcome may
// be invalid.
func (w *world) decision() rollup.Decision {
	var numbers []rollup.Number
	for i := range 12 { // the last four are not in the table
		if w.IntN(2) == 0 {
			numbers = append(numbers, rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", i), Value: w.duration()})
		}
	}
	for i := range 6 {
		if w.IntN(3) == 0 {
			numbers = append(numbers, rollup.Number{Key: fmt.Sprintf("counter_c%d", i), Value: w.Int64N(20) - 4})
		}
	}
	if w.IntN(8) == 0 {
		numbers = append(numbers, rollup.Number{Key: "timer_server_handler_ns", Value: w.duration()})
	}
	for _, key := range []string{
		"counter_server_query_cache_hit", "timer_other_ns", "counter_other", "histogram_h", "timer_", "unknown",
		"timer_eval_op_x_ns", "counter_eval_op_x",
	} {
		if w.IntN(8) == 0 {
			numbers = append(numbers, rollup.Number{Key: key, Value: w.duration()})
		}
	}
	w.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	codes := append(stages.ErrorCodes(), "", "invented", "zzz")
	return rollup.Decision{
		Path: w.path(), Outcome: outcome.Outcome(w.IntN(7)), Overflow: w.IntN(5) == 0, Query: w.IntN(9) == 0,
		Code: codes[w.IntN(len(codes))], Numbers: numbers,
	}
}

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

// TestModel compares rollups with the model. Each snapshot uses the memory of
// the one before, of the same or of another rollup. The contents of a rollup
// may also come by a merge.
func TestModel(t *testing.T) {
	t.Parallel()
	var s rollup.Snapshot
	for seed := range uint64(300) {
		w := newWorld(seed)
		o := w.options(1 + w.IntN(8))
		r, m := newRollup(t, o), newModel(w, o.Paths)
		t.Logf("seed %d", seed)
		for range 3 {
			for range w.IntN(40) {
				d := w.decision()
				m.add(d)
				r.Add(d)
			}
			r.Snapshot(&s)
			got := snapshotContents(t, &s)
			requireSame(t, got, m.contents)
			checkSize(t, got, o)
		}
		merged := newRollup(t, o)
		if err := merged.Merge(&s); err != nil {
			t.Fatal(err)
		}
		requireSame(t, contentsOf(t, merged), m.contents)
	}
}

// TestMergeModel merges rollups. If there is room, the result is the same as if
// one rollup had got all decisions. If there is not, the limits of the target
// hold, and nothing is lost.
func TestMergeModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		w := newWorld(seed)
		limit := 50
		if seed%2 == 0 {
			limit = 1 + w.IntN(8)
		}
		o := w.options(limit)
		target, want := newRollup(t, o), newModel(w, limit)
		for range 4 {
			r := newRollup(t, w.options(1+w.IntN(8)+limit/50*50))
			for range w.IntN(40) {
				d := w.decision()
				r.Add(d)
				want.add(d)
			}
			if err := target.Merge(snapshotOf(r)); err != nil {
				t.Fatal(err)
			}
		}
		got := contentsOf(t, target)
		checkSize(t, got, o)
		if g, w := sumsOf(got), sumsOf(want.contents); g != w {
			t.Fatalf("seed %d: got %+v, want %+v", seed, g, w)
		}
		if limit == 50 {
			requireSame(t, got, want.contents)
		}
	}
}

// sums are the sums of contents over all labels.
type sums struct {
	outcomes              [6]uint64
	unfinished            [3]uint64
	stages, byPath        modelCell
	counters, errors, bad uint64
}

func sumsOf(c contents) (s sums) {
	for _, outcomes := range c.Outcomes {
		for o, n := range outcomes {
			s.outcomes[o] += n
		}
	}
	for _, unfinished := range c.Unfinished {
		for cause, n := range unfinished {
			s.unfinished[cause] += n
		}
	}
	add := func(to *modelCell, c modelCell) {
		to.count += c.count
		to.negatives += c.negatives
		to.sum += c.sum
		to.self += c.self
	}
	for _, cell := range c.Stages {
		add(&s.stages, cell)
	}
	for _, cell := range c.PathStages {
		add(&s.byPath, cell)
	}
	for _, n := range c.Counters {
		s.counters += n
	}
	for _, n := range c.Errors {
		s.errors += n
	}
	s.bad = c.Overflow.Invalid
	return s
}
