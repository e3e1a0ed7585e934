// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"math/bits"
	"slices"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/rollup"
)

// names holds the metrics of Groups, by number.
//
// A number stays with its name until Groups.Forget, because callers keep it.
// Callers get the number before a decision uses the name, but only decisions
// may decide which names have room. So a name that is not in the tables is
// pending until a decision uses it.
type names struct {
	table   stages.Table              // its families are the metrics of their names without room
	known   map[string]*stages.Metric // the metrics of the tables, by key
	isOther [stages.Kinds]*stages.Metric
	noRoom  [stages.Kinds]*stages.Metric // for names without room that are in no family

	metrics []*stages.Metric // by number
	numbers map[string]int32 // by key; names without room are missing

	kept      [stages.Kinds]lowest[keptName]
	limit     int // limits the kept names of each kind
	displaced int // the number of names displaced since the last sweep
	version   int // increases when a number gets another metric
}

// The columns of metrics with names of their own.
const (
	pendingColumn = stages.OtherColumn - 1
	namedColumn   = stages.OtherColumn + 1
)

// keptName is a name that has room and is not in the tables.
type keptName struct {
	hash   uint64
	name   string
	number int32
}

func (n keptName) rank() (uint64, string) { return n.hash, n.name }

func newNames(limit int) names {
	defaults := rollup.DefaultStages()
	entries := make([]stages.Entry, len(defaults))
	for i, s := range defaults {
		entries[i] = stages.Entry{Name: s.Name, Parent: s.Parent}
	}
	table, err := stages.NewTable(entries)
	if err != nil {
		panic(err) // the default table is valid
	}
	n := names{table: table, limit: limit, known: map[string]*stages.Metric{}, numbers: map[string]int32{}}
	for _, m := range table.Stages {
		m.Column = namedColumn
		n.known[stages.KeyOf(m.Kind, m.Name)] = m
	}
	for _, name := range rollup.DefaultCounters() {
		n.known[stages.KeyOf(stages.Counter, name)] = stages.NewMetric(stages.Counter, name, namedColumn)
	}
	for _, k := range [...]stages.Kind{stages.Timer, stages.Counter} {
		n.isOther[k] = stages.NewMetric(k, rollup.Other, stages.OtherColumn)
		n.noRoom[k] = stages.NewMetric(k, rollup.Other, stages.OtherColumn)
		n.noRoom[k].Overflows = true
		n.known[stages.KeyOf(k, "")], n.known[stages.KeyOf(k, rollup.Other)] = n.isOther[k], n.isOther[k]
	}
	for _, family := range table.Families {
		family.Overflows = true
	}
	return n
}

// family returns the family of a timer's name. It returns nil for other timers
// and for counters.
func (n *names) family(k stages.Kind, name string) *stages.Metric {
	if k != stages.Timer {
		return nil
	}
	return n.table.Family(name)
}

// withoutRoom returns the metric for a name that has no room. It is the name's
// family, or a metric that is inside no stage.
func (n *names) withoutRoom(k stages.Kind, name string) *stages.Metric {
	if f := n.family(k, name); f != nil {
		return f
	}
	return n.noRoom[k]
}

// Metric returns the number that [Groups.Add] takes for the metric with this
// key, such as "timer_rego_query_eval_ns". The number is negative if the metric
// is neither a timer nor a counter. No other key gets the number until
// [Groups.Forget]. U+FFFD replaces invalid UTF-8. Metric copies the key.
func (g *Groups) Metric(key []byte) int32 {
	n := &g.names
	if number, ok := n.numbers[string(key)]; ok {
		return number
	}
	number, m := n.find(stages.Valid(string(key)))
	switch {
	case m == nil:
		return -1
	case number >= 0:
		return number
	}
	return n.add(m)
}

// find returns the number and the metric of a key. It adds a pending metric if
// the key is new. The number is negative if the key has no room. The metric is
// nil if it is neither a timer nor a counter.
func (n *names) find(key string) (number int32, m *stages.Metric) {
	if number, ok := n.numbers[key]; ok {
		return number, n.metrics[number]
	}
	k, name := stages.Split(key)
	if k == stages.Neither {
		return -1, nil
	}
	if m = n.known[key]; m == nil {
		if len(name) > stages.MaxName || !n.kept[k].admits(keyHash([]byte(name)), []byte(name), n.limit) {
			return -1, n.withoutRoom(k, name)
		}
		m = stages.NewMetric(k, name, pendingColumn)
		if f := n.family(k, name); f != nil {
			m.Ancestors = f.Ancestors
		}
	}
	number = n.add(m)
	n.numbers[key] = number
	return number, m
}

// add gives a metric a number.
func (n *names) add(m *stages.Metric) (number int32) {
	n.metrics = append(n.metrics, m)
	return int32(len(n.metrics) - 1)
}

// Forget frees the memory that belongs to the numbers from [Groups.Metric]. The
// numbers become invalid.
func (g *Groups) Forget() {
	n := &g.names
	before := n.metrics
	n.metrics, n.numbers = nil, map[string]int32{}
	for k := range n.kept {
		for i := range n.kept[k] {
			name := &n.kept[k][i]
			name.number = n.add(before[name.number])
			n.numbers[stages.KeyOf(stages.Kind(k), name.name)] = name.number
		}
	}
	n.version++
}

// HasRoom reports whether the metric with this number still has room for its
// own name. Otherwise, its values are in Other.
func (g *Groups) HasRoom(number int32) bool { return !g.names.metrics[number].Overflows }

// resolve returns the metric of a measure. It first decides whether a pending
// name has room. It counts the value as overflow if the name has no room.
func (g *Groups) resolve(number int32, value int64) *stages.Metric {
	n := &g.names
	m := n.metrics[number]
	if m.Column == pendingColumn {
		g.admitName(number)
		m = n.metrics[number]
	}
	switch {
	case !m.Overflows:
	case m.Kind == stages.Counter:
		g.overflow.Counters = addSaturated(g.overflow.Counters, uint64(value))
	default:
		g.overflow.Stages++
	}
	return m
}

// addSaturated returns a + b, or the largest uint64 if the sum exceeds it.
func addSaturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// admitName keeps a pending name if it has room, and displaces it otherwise.
func (g *Groups) admitName(number int32) {
	n := &g.names
	m := n.metrics[number]
	name := keptName{keyHash([]byte(m.Name)), m.Name, number}
	kept := &n.kept[m.Kind]
	if !kept.admits(name.hash, []byte(name.name), n.limit) {
		g.displaceName(number)
		return
	}
	m.Column = namedColumn
	kept.add(name)
	g.fit()
}

// fitNames sets the limit of each kind, and displaces the names above it.
func (g *Groups) fitNames(limit int) {
	n := &g.names
	n.limit = limit
	for k := range n.kept {
		for len(n.kept[k]) > limit {
			g.displaceName(n.kept[k].removeHighest().number)
		}
	}
}

// displaceName gives the number of a name to a metric for names without room.
// The next sweep moves the name's values to Other.
func (g *Groups) displaceName(number int32) {
	n := &g.names
	m := n.metrics[number]
	m.Overflows = true
	n.metrics[number] = n.withoutRoom(m.Kind, m.Name)
	delete(n.numbers, stages.KeyOf(m.Kind, m.Name))
	n.displaced++
	n.version++
}

// sweep moves the values of displaced names to Other.
func (g *Groups) sweep() {
	if g.names.displaced == 0 {
		return
	}
	g.names.displaced = 0
	g.forEach(func(group *group) {
		for i := range group.cells {
			g.sweepCell(&group.cells[i])
		}
	})
}

func (g *Groups) sweepCell(c *cell) {
	if !slices.ContainsFunc(c.stages, stageCell.isDisplaced) && !slices.ContainsFunc(c.counters, counterCell.isDisplaced) {
		return
	}
	var others cell
	for i := range c.stages {
		if s := &c.stages[i]; s.isDisplaced() {
			s.durations.read(&g.content)
			g.overflow.Stages += s.unfinished
			for _, n := range g.content.Counts {
				g.overflow.Stages += n
			}
			others.mergeStage(s, g.names.isOther[stages.Timer])
		}
	}
	for i := range c.counters {
		if t := &c.counters[i]; t.isDisplaced() {
			g.overflow.Counters = addSaturated(g.overflow.Counters, t.total.Lo|-min(t.total.Hi, 1))
			others.mergeCounter(t, g.names.isOther[stages.Counter])
		}
	}
	c.stages = slices.DeleteFunc(c.stages, stageCell.isDisplaced)
	c.counters = slices.DeleteFunc(c.counters, counterCell.isDisplaced)
	c.merge(&others)
}

// rename replaces the metrics in o's cells with metrics of g. Names of o
// without room in g are displaced. They may displace names of g.
func (g *Groups) rename(o *Groups) {
	renamed := map[*stages.Metric]*stages.Metric{}
	for k := range o.names.isOther {
		renamed[o.names.isOther[k]] = g.names.isOther[k]
	}
	rename := func(m **stages.Metric) {
		to, ok := renamed[*m]
		if !ok {
			to = g.metricOf((*m).Kind, (*m).Name)
			renamed[*m] = to
		}
		*m = to
	}
	o.forEach(func(group *group) {
		for i := range group.cells {
			c := &group.cells[i]
			for j := range c.stages {
				rename(&c.stages[j].metric)
			}
			for j := range c.counters {
				rename(&c.counters[j].metric)
			}
		}
	})
}

// metricOf returns g's metric for a name that decisions use. For a name without
// room, it returns a new metric, whose values the next sweep moves to Other.
func (g *Groups) metricOf(k stages.Kind, name string) *stages.Metric {
	n := &g.names
	number, m := n.find(stages.KeyOf(k, name))
	if m.Column == pendingColumn {
		g.admitName(number)
		m = n.metrics[number]
	}
	if m.Overflows {
		m = stages.NewMetric(k, name, stages.OtherColumn)
		m.Overflows = true
		n.displaced++
	}
	return m
}
