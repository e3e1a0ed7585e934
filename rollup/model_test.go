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

	"github.com/regometer/regometer/rollup"
)

// model is a rollup written for clarity: it remembers every value, and decides
// about labels by the rules of the package's documentation.
type model struct {
	limits   rollup.Limits
	parents  map[string]string
	label    func(string) (string, bool)
	paths    []string
	stages   []string
	counters []string
	other    struct{ stage, counter, paths bool } // Other was needed; no path gets a label any more
	overflow rollup.Overflow

	outcomes map[string][5]uint64
	cells    map[[2]string]*modelCell // by path and stage
	totals   map[[2]string]uint64     // by path and counter
}

type modelCell struct {
	count, negatives, unfinished, sum, self uint64
	least, most                             int64
}

func newModel(l rollup.Limits, parents map[string]string, label func(string) (string, bool)) *model {
	return &model{
		limits: l, parents: parents, label: label,
		outcomes: map[string][5]uint64{}, cells: map[[2]string]*modelCell{}, totals: map[[2]string]uint64{},
	}
}

// name returns the label of a stage or counter.
func (m *model) name(name string, given *[]string, limit int, other *bool, overflow *uint64, amount uint64) string {
	switch {
	case name == "" || name == rollup.Other:
	case slices.Contains(*given, name):
		return name
	case len(*given) < limit:
		*given = append(*given, name)
		return name
	default:
		*overflow += amount
	}
	*other = true
	return rollup.Other
}

// labelled counts the cells or totals of paths with a label.
func labelled[V any](all map[[2]string]V) (n int) {
	for key := range all {
		if key[0] != rollup.Other {
			n++
		}
	}
	return n
}

func (m *model) histogramsLeft() int {
	return m.limits.Histograms - (m.limits.Stages + 1) - labelled(m.cells)
}

func (m *model) totalsLeft() int {
	return m.limits.Events - (m.limits.Counters + 1) - labelled(m.totals)
}

func (m *model) path(path string) string {
	label, ok := path, true
	if m.label != nil {
		label, ok = m.label(path)
	}
	switch {
	case !ok || label == "" || label == rollup.Other:
		return rollup.Other
	case slices.Contains(m.paths, label):
		return label
	}
	stages, counters := len(m.stages), len(m.counters)
	if m.other.stage {
		stages++
	}
	if m.other.counter {
		counters++
	}
	if m.other.paths || len(m.paths) == m.limits.Paths || m.histogramsLeft() < stages || m.totalsLeft() < counters {
		m.other.paths = true
		m.overflow.Paths++
		return rollup.Other
	}
	m.paths = append(m.paths, label)
	return label
}

func (m *model) cell(path, stage string, overflow *uint64) *modelCell {
	key := [2]string{path, stage}
	if m.cells[key] == nil && path != rollup.Other && m.histogramsLeft() == 0 {
		key[0] = rollup.Other
		*overflow++
	}
	if m.cells[key] == nil {
		m.cells[key] = &modelCell{}
	}
	return m.cells[key]
}

func (m *model) add(path string, o rollup.Outcome, numbers []rollup.Number) {
	type timer struct {
		stage string
		value int64
		self  int64
	}
	type counter struct {
		event string
		value uint64
	}
	timers := map[string]*timer{}
	var order []string
	var counters []counter
	for _, n := range numbers {
		if name, ok := strings.CutPrefix(n.Key, "counter_"); ok {
			if n.Value < 0 {
				m.overflow.Invalid++
				continue
			}
			event := m.name(name, &m.counters, m.limits.Counters, &m.other.counter, &m.overflow.Counters, uint64(n.Value))
			counters = append(counters, counter{event, uint64(n.Value)})
			continue
		}
		name, isTimer := strings.CutPrefix(n.Key, "timer_")
		if name, ok := strings.CutSuffix(name, "_ns"); isTimer && ok {
			stage := m.name(name, &m.stages, m.limits.Stages, &m.other.stage, &m.overflow.Stages, 1)
			timers[name] = &timer{stage, n.Value, n.Value}
			order = append(order, name)
		}
	}
	for name, t := range timers {
		for around := m.parents[name]; around != "" && t.value > 0; around = m.parents[around] {
			if p := timers[around]; p != nil && p.value > 0 {
				p.self -= t.value
				break
			}
		}
	}

	label := m.path(path)
	counts := m.outcomes[label]
	counts[o]++
	m.outcomes[label] = counts
	for _, name := range order {
		t := timers[name]
		c := m.cell(label, t.stage, &m.overflow.Histograms)
		switch {
		case t.value < 0:
			c.negatives++
		case t.value == 0:
			c.unfinished++
		default:
			if c.count == 0 || t.value < c.least {
				c.least = t.value
			}
			c.most = max(c.most, t.value)
			c.count++
			c.sum += uint64(t.value)
			c.self += uint64(max(t.self, 0))
		}
	}
	for _, c := range counters {
		key := [2]string{label, c.event}
		if _, ok := m.totals[key]; !ok && label != rollup.Other && m.totalsLeft() == 0 {
			key[0] = rollup.Other
			m.overflow.Events += c.value
		}
		m.totals[key] += c.value
	}
}

// contents is what a snapshot or a model holds, without regard to order.
type contents struct {
	Outcomes map[string][5]uint64
	Cells    map[[2]string]modelCell
	Totals   map[[2]string]uint64
	Overflow rollup.Overflow
}

func (m *model) contents() contents {
	c := contents{m.outcomes, map[[2]string]modelCell{}, m.totals, m.overflow}
	for key, cell := range m.cells {
		c.Cells[key] = *cell
	}
	return c
}

func contentsOf(t *testing.T, r *rollup.Rollup) contents {
	t.Helper()
	var s rollup.Snapshot
	r.Snapshot(&s)
	c := contents{map[string][5]uint64{}, map[[2]string]modelCell{}, map[[2]string]uint64{}, s.Overflow}
	for i := range s.Paths {
		p := &s.Paths[i]
		if _, ok := c.Outcomes[p.Label]; ok {
			t.Errorf("path %q is there twice", p.Label)
		}
		if p.Outcomes != [5]uint64{} {
			c.Outcomes[p.Label] = p.Outcomes
		}
		for j := range p.Stages {
			st := &p.Stages[j]
			key := [2]string{p.Label, st.Stage}
			if _, ok := c.Cells[key]; ok {
				t.Errorf("stage %q of path %q is there twice", st.Stage, p.Label)
			}
			hi, lo := st.Histogram.Sum()
			if hi != 0 {
				t.Errorf("sum of stage %q of path %q is beyond 64 bits", st.Stage, p.Label)
			}
			c.Cells[key] = modelCell{
				count: st.Histogram.Count(), negatives: st.Histogram.Negatives(), unfinished: st.Unfinished,
				sum: lo, self: st.Self, least: st.Histogram.Min(), most: st.Histogram.Max(),
			}
		}
		for _, e := range p.Events {
			key := [2]string{p.Label, e.Event}
			if _, ok := c.Totals[key]; ok {
				t.Errorf("event %q of path %q is there twice", e.Event, p.Label)
			}
			c.Totals[key] = e.Total
		}
	}
	return c
}

func requireSame(t *testing.T, got, want contents) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got\n%+v\nwant\n%+v", got, want)
	}
}

// checkBounds fails if a rollup holds more than its limits allow.
func checkBounds(t *testing.T, c contents, l rollup.Limits) {
	t.Helper()
	paths, stages, counters := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for path := range c.Outcomes {
		paths[path] = true
	}
	for key := range c.Cells {
		stages[key[1]] = true
	}
	for key := range c.Totals {
		counters[key[1]] = true
	}
	for _, bound := range []struct {
		what     string
		got, max int
	}{
		{"paths", len(paths), l.Paths + 1},
		{"stages", len(stages), l.Stages + 1},
		{"counters", len(counters), l.Counters + 1},
		{"histograms", len(c.Cells), l.Histograms},
		{"totals", len(c.Totals), l.Events},
	} {
		if bound.got > bound.max {
			t.Errorf("%d %s, at most %d are allowed", bound.got, bound.what, bound.max)
		}
	}
}

// world makes random decisions.
type world struct {
	*rand.Rand
	stages  []rollup.Stage
	parents map[string]string
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), parents: map[string]string{}}
	for i := range 8 {
		name, parent := fmt.Sprintf("s%d", i), ""
		if i > 0 && w.IntN(3) > 0 {
			parent = fmt.Sprintf("s%d", w.IntN(i))
		}
		w.stages = append(w.stages, rollup.Stage{Name: name, Parent: parent})
		w.parents[name] = parent
	}
	w.Shuffle(len(w.stages), func(i, j int) { w.stages[i], w.stages[j] = w.stages[j], w.stages[i] })
	return w
}

func (w *world) limits() rollup.Limits {
	l := rollup.Limits{Paths: 1 + w.IntN(8), Stages: 1 + w.IntN(12), Counters: 1 + w.IntN(6)}
	l.Histograms = l.Stages + 1 + w.IntN(30)
	l.Events = l.Counters + 1 + w.IntN(20)
	return l
}

func (w *world) path() string {
	switch n := w.IntN(14); n {
	case 0:
		return rollup.Other
	case 1:
		return ""
	default:
		return fmt.Sprintf("p%d", n)
	}
}

// decision returns metrics of which no key occurs twice, in random order.
func (w *world) decision() (path string, o rollup.Outcome, numbers []rollup.Number) {
	for i := range 12 { // the last four are not in the table
		if w.IntN(2) == 0 {
			numbers = append(numbers, rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", i), Value: w.value()})
		}
	}
	for i := range 6 {
		if w.IntN(3) == 0 {
			numbers = append(numbers, rollup.Number{Key: fmt.Sprintf("counter_c%d", i), Value: w.value()})
		}
	}
	for _, key := range []string{"timer_other_ns", "counter_other", "histogram_h", "timer_", "unknown"} {
		if w.IntN(8) == 0 {
			numbers = append(numbers, rollup.Number{Key: key, Value: w.value()})
		}
	}
	w.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	return w.path(), rollup.Outcome(w.IntN(5)), numbers
}

func (w *world) value() int64 {
	switch w.IntN(8) {
	case 0:
		return 0
	case 1:
		return -w.Int64N(1000)
	default:
		return 1 + w.Int64N(1<<w.IntN(40))
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		w := newWorld(seed)
		o := rollup.Options{Limits: w.limits(), Stages: w.stages}
		if w.IntN(2) == 0 {
			o.Label = func(path string) (string, bool) { return strings.TrimSuffix(path, "1"), path != "p5" }
		}
		r, err := rollup.New(o)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(o.Limits, w.parents, o.Label)
		for range 60 {
			path, outcome, numbers := w.decision()
			r.AddNumbers(path, outcome, numbers)
			m.add(path, outcome, numbers)
		}
		t.Logf("seed %d", seed)
		got := contentsOf(t, r)
		requireSame(t, got, m.contents())
		checkBounds(t, got, o.Limits)
		requireSame(t, contentsOf(t, r.Clone()), got)
	}
}

// TestMergeIsFolding: folding two lots of decisions apart and merging is the
// same as folding them all, if there is room.
func TestMergeIsFolding(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		w := newWorld(seed)
		o := rollup.Options{Stages: w.stages, Limits: rollup.Limits{Histograms: 1000}}
		all, parts := newRollup(t, o), [2]*rollup.Rollup{}
		for i := range parts {
			parts[i] = newRollup(t, o)
			for range w.IntN(100) {
				path, outcome, numbers := w.decision()
				parts[i].AddNumbers(path, outcome, numbers)
				all.AddNumbers(path, outcome, numbers)
			}
		}
		var s rollup.Snapshot
		parts[1].Snapshot(&s)
		if err := parts[0].Merge(&s); err != nil {
			t.Fatal(err)
		}
		requireSame(t, contentsOf(t, parts[0]), contentsOf(t, all))
	}
}

// TestMergeKeepsToLimits: whatever is merged, the target's limits hold and
// nothing is lost.
func TestMergeKeepsToLimits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		w := newWorld(seed)
		l := w.limits()
		target := newRollup(t, rollup.Options{Limits: l, Stages: w.stages})
		want := newModel(l, w.parents, nil)
		for range 4 {
			r := newRollup(t, rollup.Options{Limits: w.limits(), Stages: w.stages})
			for range 30 {
				path, outcome, numbers := w.decision()
				r.AddNumbers(path, outcome, numbers)
				want.add(path, outcome, numbers)
			}
			var s rollup.Snapshot
			r.Snapshot(&s)
			if err := target.Merge(&s); err != nil {
				t.Fatal(err)
			}
		}
		got := contentsOf(t, target)
		checkBounds(t, got, l)
		if g, w := sumsOf(got), sumsOf(want.contents()); g != w {
			t.Fatalf("seed %d: got %+v, want %+v", seed, g, w)
		}
	}
}

// sums is what contents come to, whatever the labels.
type sums struct {
	outcomes [5]uint64
	cell     modelCell
	events   uint64
	invalid  uint64
}

func sumsOf(c contents) (s sums) {
	for _, outcomes := range c.Outcomes {
		for o, n := range outcomes {
			s.outcomes[o] += n
		}
	}
	for _, cell := range c.Cells {
		s.cell.count += cell.count
		s.cell.negatives += cell.negatives
		s.cell.unfinished += cell.unfinished
		s.cell.sum += cell.sum
		s.cell.self += cell.self
	}
	for _, n := range c.Totals {
		s.events += n
	}
	s.invalid = c.Overflow.Invalid
	return s
}
