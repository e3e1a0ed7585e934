// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "slices"

// groupNames are the metrics that Groups knows, by number.
//
// A number stays with its name until Groups.Forget, since whoever asked for it
// keeps it, and is given before any decision has the name. Which names have
// room is to depend on the decisions, though. So a name of no table is first
// pending, and takes part when a decision has it.
type groupNames struct {
	catalog *catalog
	metrics []*metric        // by number
	numbers map[string]int32 // by key; not of names that have no room
	noRooms []*metric        // of names of each family that have no room

	kept      [counterKind + 1]lowest[keptName] // by kind
	limit     int                               // of each kind
	displaced int                               // names since the last sweep
	version   int                               // of what numbers stand for: rises when a number gets another metric
}

// The columns of names that are in no table.
const (
	pendingColumn = otherColumn - 1
	namedColumn   = 1<<31 - 1 // is none: these are found by their metric
)

// keptName is a name of no table that has room.
type keptName struct {
	hash   uint64
	name   string
	number int32
}

func (n keptName) rank() (uint64, string) { return n.hash, n.name }

func newGroupNames(o GroupOptions) (n groupNames, err error) {
	stages, err := newStageTable(o.Stages)
	if err != nil {
		return n, err
	}
	counters, err := Options{Counters: o.Counters}.counters()
	if err != nil {
		return n, err
	}
	n.catalog = newCatalog(stages, counters, Limits{})
	n.limit = o.Limits.withDefaults().Names
	n.numbers = map[string]int32{}
	for _, family := range n.catalog.families {
		m := newMetric(stageKind, Other, otherColumn)
		m.ancestors, m.overflows = family.ancestors, true
		n.noRooms = append(n.noRooms, m)
	}
	return n, nil
}

// noRoom returns the metric of a name that has no room. It stands for how the
// name is nested.
func (n *groupNames) noRoom(k kind, name string) *metric {
	if f := n.catalog.family(name); f != nil && k == stageKind {
		return n.noRooms[slices.Index(n.catalog.families, f)]
	}
	return n.catalog.labels(k).noRoom
}

// Metric returns by what number [Groups.Add] knows the metric of this key, such
// as "timer_rego_query_eval_ns", or a negative one for what is left alone. No
// other key has the number until [Groups.Forget]. A key of invalid UTF-8 is the
// key in which U+FFFD replaces the invalid bytes. The key is not kept.
func (g *Groups) Metric(key []byte) int32 {
	n := &g.names
	if number, ok := n.numbers[string(key)]; ok {
		return number
	}
	text := valid(string(key))
	number, m := n.find(text)
	switch {
	case m == nil:
		return -1
	case number >= 0:
		return number
	}
	return n.add(m)
}

// find returns the number of a key that may have a name of its own, and what it
// stands for. It returns a negative number if the key has no room, and nil if
// the key is left alone.
func (n *groupNames) find(key string) (number int32, m *metric) {
	if number, ok := n.numbers[key]; ok {
		return number, n.metrics[number]
	}
	if m = n.catalog.find(key); m == nil {
		return -1, nil
	}
	if k, name := split(key); m == n.catalog.labels(k).unknown {
		if len(name) > maxName || !n.kept[k].admits(KeyHash([]byte(name)), []byte(name), n.limit) {
			return -1, n.noRoom(k, name)
		}
		m = newMetric(k, name, pendingColumn)
		if f := n.catalog.family(name); f != nil && k == stageKind {
			m.ancestors = f.ancestors
		}
	}
	number = n.add(m)
	n.numbers[key] = number
	return number, m
}

func (n *groupNames) add(m *metric) (number int32) {
	n.metrics = append(n.metrics, m)
	return int32(len(n.metrics) - 1)
}

// Forget forgets the numbers that [Groups.Metric] has returned, which take
// memory: who wants them asks for them again.
func (g *Groups) Forget() {
	n := &g.names
	before := n.metrics
	n.metrics, n.numbers = nil, map[string]int32{}
	for k := range n.kept {
		for i := range n.kept[k] {
			name := &n.kept[k][i]
			name.number = n.add(before[name.number])
			n.numbers[keyOf(kind(k), name.name)] = name.number
		}
	}
	n.version++
}

// HasRoom reports whether what decisions have of a metric, by its number, is
// not in Other's for want of room so far.
func (g *Groups) HasRoom(number int32) bool { return !g.names.metrics[number].overflows }

// settle returns the metric of a measure whose metric is pending, or in the
// column of Other.
func (g *Groups) settle(number int32, value int64) *metric {
	n := &g.names
	m := n.metrics[number]
	if m.column == pendingColumn {
		g.admitName(number)
		m = n.metrics[number]
	}
	if m.overflows {
		g.overflow.name(m.kind, uint64(value))
	}
	return m
}

// name counts a timer, or n of a counter, that has no name for want of room.
func (o *GroupOverflow) name(k kind, n uint64) {
	if k == counterKind {
		o.Counters += n
	} else {
		o.Stages++
	}
}

// admitName gives a pending name room, or none.
func (g *Groups) admitName(number int32) {
	n := &g.names
	m := n.metrics[number]
	name := keptName{KeyHash([]byte(m.name)), m.name, number}
	kept := &n.kept[m.kind]
	if !kept.admits(name.hash, []byte(name.name), n.limit) {
		g.displaceName(number)
		return
	}
	m.column = namedColumn
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

// displaceName takes the room from a name. What cells have of it is Other's,
// and is brought there by sweep.
func (g *Groups) displaceName(number int32) {
	n := &g.names
	m := n.metrics[number]
	m.overflows = true
	n.metrics[number] = n.noRoom(m.kind, m.name)
	delete(n.numbers, keyOf(m.kind, m.name))
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
			others.mergeStage(s, g.names.catalog.stages.isOther, &g.empty)
		}
	}
	for i := range c.counters {
		if t := &c.counters[i]; t.isDisplaced() {
			g.overflow.Counters += t.total.Lo
			others.mergeCounter(t, g.names.catalog.counters.isOther)
		}
	}
	c.stages = slices.DeleteFunc(c.stages, stageCell.isDisplaced)
	c.counters = slices.DeleteFunc(c.counters, counterCell.isDisplaced)
	c.merge(&others, &g.empty)
}

// rename makes the metrics of o's cells g's. A name that finds no room here is
// displaced, and more of g's may be.
func (g *Groups) rename(o *Groups) {
	renamed := map[*metric]*metric{
		o.names.catalog.stages.isOther:   g.names.catalog.stages.isOther,
		o.names.catalog.counters.isOther: g.names.catalog.counters.isOther,
	}
	rename := func(m **metric) {
		to, ok := renamed[*m]
		if !ok {
			to = g.renamed(*m)
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

// renamed returns g's metric for one of another's, which is in decisions.
func (g *Groups) renamed(m *metric) *metric {
	n := &g.names
	number, own := n.find(keyOf(m.kind, m.name))
	if own.column == pendingColumn {
		g.admitName(number)
		own = n.metrics[number]
	}
	if own.column != otherColumn {
		return own
	}
	m.overflows = true
	n.displaced++
	return m
}
