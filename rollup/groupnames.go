// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "slices"

// groupNames are the metrics that Groups knows, by number.
//
// A number stays with its name, since whoever asked for it keeps it, and is
// given before any decision has the name. Which names have room is to depend on
// the decisions, though. So a name of no table is first pending, and takes part
// when a decision has it.
type groupNames struct {
	catalog *catalog
	metrics []*metric        // by number; those of no room first, see noRoom
	numbers map[string]int32 // by key
	size    int              // of the keys of no table that ever got a number, in bytes

	kept      [counterKind + 1]lowest[keptName] // by kind
	limit     int                               // of each kind
	displaced int                               // names since the last sweep
	version   int                               // of what numbers stand for: how many names were ever displaced
}

// The columns of names that are in no table.
const (
	pendingColumn = otherColumn - 1
	namedColumn   = 1<<31 - 1 // is none: these are found by their metric
)

// maxNumbered bounds what the numbers of names take that find no room, in
// bytes. It takes many thousands of names, given in the order of falling
// hashes, to come here: after that new names have no room.
const maxNumbered = 16 << 20

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
	n.metrics = []*metric{n.catalog.stages.noRoom, n.catalog.counters.noRoom}
	for _, family := range n.catalog.families {
		m := newMetric(stageKind, Other, otherColumn)
		m.ancestors, m.overflows = family.ancestors, true
		n.metrics = append(n.metrics, m)
	}
	return n, nil
}

// noRoom returns the number of a name that has no room. It stands for how the
// name is nested.
func (n *groupNames) noRoom(k kind, name string) int32 {
	if k == counterKind {
		return 1
	}
	if f := n.catalog.family(name); f != nil {
		return 2 + int32(slices.Index(n.catalog.families, f))
	}
	return 0
}

// Metric returns by what number [Groups.Add] knows the metric of this key, such
// as "timer_rego_query_eval_ns", or a negative one for what is left alone. The
// key is not kept.
func (g *Groups) Metric(key []byte) int32 {
	n := &g.names
	if number, ok := n.numbers[string(key)]; ok {
		return number
	}
	text := valid(string(key))
	if number, ok := n.numbers[text]; ok {
		return number
	}
	m := n.catalog.find(text)
	if m == nil {
		return -1
	}
	if k, name := split(text); m == n.catalog.labels(k).unknown {
		if len(name) > maxName || n.size+len(text) > maxNumbered ||
			!n.kept[k].admits(KeyHash([]byte(name)), []byte(name), n.limit) {
			return n.noRoom(k, name)
		}
		n.size += len(text) + 100
		m = newMetric(k, name, pendingColumn)
		if f := n.catalog.family(name); f != nil && k == stageKind {
			m.ancestors = f.ancestors
		}
	}
	number := int32(len(n.metrics))
	n.metrics = append(n.metrics, m)
	n.numbers[text] = number
	return number
}

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
	n.metrics[number] = n.metrics[n.noRoom(m.kind, m.name)]
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
	number := g.Metric([]byte(keyOf(m.kind, m.name)))
	if n.metrics[number].column == pendingColumn {
		g.admitName(number)
	}
	if own := n.metrics[number]; own.column != otherColumn {
		return own
	}
	m.overflows = true
	n.displaced++
	return m
}
