// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"math/bits"
	"slices"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/rollup"
)

// names are the metrics that Groups knows, by number.
//
// A number stays with its name until Groups.Forget, since callers keep it, and
// is given before any decision has the name. But only decisions may decide
// which names have room. So a name that is not in the tables is first pending,
// and takes part when a decision has it.
type names struct {
	table   stages.Table
	known   map[string]*stages.Metric // those of the tables, by key
	isOther [stages.Kinds]*stages.Metric
	noRoom  [stages.Kinds]*stages.Metric
	noRooms []*stages.Metric // of names of each family that have no room

	metrics []*stages.Metric // by number
	numbers map[string]int32 // by key; not of names that have no room

	kept      [stages.Kinds]lowest[keptName]
	limit     int // of each kind
	displaced int // names since the last sweep
	version   int // rises when a number gets another metric
}

// The columns of metrics with names of their own.
const (
	pendingColumn = stages.OtherColumn - 1
	namedColumn   = stages.OtherColumn + 1
)

// keptName is a name with room that is not in the tables.
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
		m := stages.NewMetric(stages.Timer, rollup.Other, stages.OtherColumn)
		m.Ancestors, m.Overflows = family.Ancestors, true
		n.noRooms = append(n.noRooms, m)
	}
	return n
}

// family returns the family that a timer's name belongs to, or nil.
func (n *names) family(k stages.Kind, name string) *stages.Metric {
	if k != stages.Timer {
		return nil
	}
	return n.table.Family(name)
}

// withoutRoom returns the metric of a name that has no room. It stands for how
// the name is nested.
func (n *names) withoutRoom(k stages.Kind, name string) *stages.Metric {
	if f := n.family(k, name); f != nil {
		return n.noRooms[slices.Index(n.table.Families, f)]
	}
	return n.noRoom[k]
}

// Metric returns the number by which [Groups.Add] knows the metric of a key,
// such as "timer_rego_query_eval_ns", or a negative number for a key that is
// not of a timer or counter. No other key has the number until [Groups.Forget].
// Bytes of the key that are not UTF-8 are replaced by U+FFFD. Metric copies the
// key.
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

// find returns the number and the metric of a key that may have a name of its
// own. The number is negative if the key has no room, and the metric is nil if
// the key is not of a timer or counter.
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

func (n *names) add(m *stages.Metric) (number int32) {
	n.metrics = append(n.metrics, m)
	return int32(len(n.metrics) - 1)
}

// Forget forgets the numbers that [Groups.Metric] has returned, which take
// memory. Callers that need them ask again.
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

// HasRoom reports whether the values of a metric, by its number, have not been
// moved to Other so far because there was no room.
func (g *Groups) HasRoom(number int32) bool { return !g.names.metrics[number].Overflows }

// settle returns the metric of a measure whose metric is pending, or in the
// column of Other.
func (g *Groups) settle(number int32, value int64) *stages.Metric {
	n := &g.names
	m := n.metrics[number]
	if m.Column == pendingColumn {
		g.admitName(number)
		m = n.metrics[number]
	}
	if m.Overflows {
		g.overflow.name(m.Kind, uint64(value))
	}
	return m
}

// name counts a timer, or n of a counter, that has no name because there is no
// room.
func (o *Overflow) name(k stages.Kind, n uint64) {
	if k == stages.Counter {
		o.Counters = saturated(o.Counters, n)
	} else {
		o.Stages++
	}
}

// saturated returns a + b, or the largest number.
func saturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// admitName gives a pending name room, or none.
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

// fitNames keeps to a limit, which may be less than before.
func (g *Groups) fitNames(limit int) {
	n := &g.names
	n.limit = limit
	for k := range n.kept {
		for len(n.kept[k]) > limit {
			g.displaceName(n.kept[k].removeHighest().number)
		}
	}
}

// displaceName takes the room from a name. The sweep moves what cells have of
// it to Other.
func (g *Groups) displaceName(number int32) {
	n := &g.names
	m := n.metrics[number]
	m.Overflows = true
	n.metrics[number] = n.withoutRoom(m.Kind, m.Name)
	delete(n.numbers, stages.KeyOf(m.Kind, m.Name))
	n.displaced++
	n.version++
}

// sweep merges what cells have of displaced names into Other.
func (g *Groups) sweep() {
	if g.names.displaced == 0 {
		return
	}
	g.names.displaced = 0
	g.all(func(group *group) {
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
			g.overflow.Stages += s.timers()
			others.mergeStage(s, g.names.isOther[stages.Timer])
		}
	}
	for i := range c.counters {
		if t := &c.counters[i]; t.isDisplaced() {
			g.overflow.Counters = saturated(g.overflow.Counters, t.total.Lo|-min(t.total.Hi, 1))
			others.mergeCounter(t, g.names.isOther[stages.Counter])
		}
	}
	c.stages = slices.DeleteFunc(c.stages, stageCell.isDisplaced)
	c.counters = slices.DeleteFunc(c.counters, counterCell.isDisplaced)
	c.merge(&others)
}

// rename makes the metrics of o's cells g's. A name that finds no room here is
// displaced, and more of g's may be.
func (g *Groups) rename(o *Groups) {
	renamed := map[*stages.Metric]*stages.Metric{}
	for k := range o.names.isOther {
		renamed[o.names.isOther[k]] = g.names.isOther[k]
	}
	rename := func(m **stages.Metric) {
		to, ok := renamed[*m]
		if !ok {
			to = g.own((*m).Kind, (*m).Name)
			renamed[*m] = to
		}
		*m = to
	}
	o.all(func(group *group) {
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

// own returns g's metric for a name that decisions have. For a name without
// room it returns a metric that the sweep displaces.
func (g *Groups) own(k stages.Kind, name string) *stages.Metric {
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
