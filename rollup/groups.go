// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/regometer/regometer/exphist"
)

// Groups folds decisions into groups by a key, such as their path, and each
// group into slices of time. Where a [Rollup] is for a server that must stay
// small for ever, whatever its clients send, Groups is for a log that is read
// once: it keeps all stages and counters of each group, by their names, and has
// room for very many. It is for one goroutine; what several have is merged.
//
// What it holds, and so its limits' effect, depends on the decisions alone, not
// on their order nor on how they were spread over the Groups that were merged:
//
//   - Of the keys, those with the lowest [KeyHash] have a group, as many as
//     GroupLimits.Groups; all others are in group [Other]. A key that is empty,
//     or reads "other", is Other. Bytes that are not UTF-8 are replaced by
//     U+FFFD. A key of more than 1,024 bytes has no room.
//   - The slices of all groups have one width, GroupLimits.Width doubled until
//     no more than the limits allow are needed.
//   - Of the stages and counters that are not in the tables, those with the
//     lowest KeyHash of their name have a name of their own, as many as
//     GroupLimits.Names; all others are in stage Other or counter Other. A
//     stage of a family has its own name, and is nested as the family is.
type Groups struct {
	options GroupOptions // with the limits that hold
	names   groupNames
	empty   exphist.Compact // is copied to make one

	byKey map[string]*group // group Other is there as "" too
	kept  lowest[*group]
	other *group
	// recent are groups that decisions had, by recentIndex: a way around the
	// map. Where there is none, other is.
	recent [recentGroups]*group

	width  int64
	begins map[int64]struct{} // the slices that have decisions, by index
	// The slice of the last decision that had a time: its index, its first time
	// and its last.
	index, begin, end int64

	plans    [plans]plan
	folding  folding // empty but for its memory
	overflow GroupOverflow
}

const recentGroups = 1024

// GroupLimits bounds the memory of Groups.
type GroupLimits struct {
	// Groups is how many keys have a group of their own. 0: 65,536.
	Groups int
	// Names is how many stages, and how many counters, have a name, beyond
	// those of the tables. 0: 256. If there are more groups than Cells, it is
	// less: Names·Cells/g, but always one.
	Names int
	// Width is the least width of a slice, in ns. It is doubled, and slices
	// merged, until no more than Slices different ones have decisions, and no
	// more than Cells/(g·(1+n/64)) if that is less, but always one, where g is
	// how many groups there are, Other aside, and n how many stages and
	// counters have a name beyond those of the tables. Slices begin at
	// multiples of their width since 1970. A width that cannot be doubled in an
	// int64 stays: so there may always be four. Width 0: one minute. Slices 0:
	// 240. Cells 0: 8,192.
	Width         int64
	Slices, Cells int
}

var defaultGroupLimits = GroupLimits{Groups: 65_536, Names: 256, Width: 60e9, Slices: 240, Cells: 8192}

// maxGroupLimit is the most that may be allowed: two limits can be multiplied.
const maxGroupLimit = 1 << 30

func (l GroupLimits) withDefaults() GroupLimits {
	d := &defaultGroupLimits
	return GroupLimits{
		cmp.Or(l.Groups, d.Groups), cmp.Or(l.Names, d.Names),
		cmp.Or(l.Width, d.Width), cmp.Or(l.Slices, d.Slices), cmp.Or(l.Cells, d.Cells),
	}
}

func (l GroupLimits) check() error {
	d := &defaultGroupLimits
	for _, f := range [...]struct {
		name                  string
		value, fallback, most int64
	}{
		{"Groups", int64(l.Groups), int64(d.Groups), maxGroupLimit},
		{"Names", int64(l.Names), int64(d.Names), maxGroupLimit},
		{"Width", l.Width, d.Width, math.MaxInt64},
		{"Slices", int64(l.Slices), int64(d.Slices), maxGroupLimit},
		{"Cells", int64(l.Cells), int64(d.Cells), maxGroupLimit},
	} {
		if f.value < 0 || f.value > f.most {
			return fmt.Errorf("rollup: GroupLimits.%s is %d: it must be 0, which stands for %d, or from 1 to %d",
				f.name, f.value, f.fallback, f.most)
		}
	}
	return nil
}

// GroupOptions configures Groups. The zero value is the default.
type GroupOptions struct {
	Limits   GroupLimits
	Stages   []Stage  // as in Options
	Counters []string // as in Options
}

// NoTime is the time of a decision that has none. Such decisions are in a slice
// of their own, which does not count among the slices.
const NoTime = -1 << 63

// NewGroups returns empty groups, or an error that names the option that is
// wrong.
func NewGroups(o GroupOptions) (*Groups, error) {
	if err := o.Limits.check(); err != nil {
		return nil, err
	}
	names, err := newGroupNames(o)
	if err != nil {
		return nil, err
	}
	empty, err := exphist.NewCompact(exphist.DefaultLayout(exphist.Nanosecond))
	if err != nil {
		return nil, err
	}
	o.Limits = o.Limits.withDefaults()
	o.Stages, o.Counters = slices.Clone(o.Stages), slices.Clone(o.Counters)
	other := &group{key: Other}
	g := &Groups{
		options: o,
		names:   names,
		empty:   empty,
		byKey:   map[string]*group{"": other, Other: other},
		other:   other,
		width:   o.Limits.Width,
		begins:  map[int64]struct{}{},
	}
	for i := range g.recent {
		g.recent[i] = other
	}
	return g, nil
}

// Measure is one metric of a decision.
type Measure struct {
	Metric int32 // as Groups.Metric returned it
	Value  int64
}

// Add folds in a decision at a time, in ns since 1970, or NoTime. The key is
// copied if it is kept. A metric should be among the measures once. One that
// is none, and a counter that is not above 0, is left alone.
func (g *Groups) Add(key []byte, time int64, outcome Outcome, code string, measures []Measure) {
	if g.names.displaced > g.options.Limits.Names {
		g.sweep() // not later, when a decision that is being folded may have one of them
	}
	if p := g.planAt(measures); p.fits(measures, g.names.version) {
		g.addPlanned(g.count(key, time, outcome, code), p, measures)
	} else {
		g.addAny(key, time, outcome, code, measures, p)
	}
}

// addAny is Add of a decision that fits no plan: p is to be its plan.
func (g *Groups) addAny(key []byte, time int64, outcome Outcome, code string, measures []Measure, p *plan) {
	f := &g.folding
	for i := range measures {
		number, value := measures[i].Metric, measures[i].Value
		if uint(number) >= uint(len(g.names.metrics)) {
			continue
		}
		m := g.names.metrics[number]
		if m.kind == counterKind && value <= 0 {
			continue
		}
		if m.column <= otherColumn {
			m = g.settle(number, value)
		}
		f.put(m, value)
	}
	if f.n == len(measures) {
		p.set(measures, f, g.names.version)
	}
	f.cover()
	g.fold(f, g.count(key, time, outcome, code))
	f.reset()
}

// count counts a decision in its cell, and returns that.
func (g *Groups) count(key []byte, time int64, outcome Outcome, code string) *cell {
	group := g.groupOf(key)
	c := g.cellOf(group, time)
	outcome = outcome.known()
	c.outcomes[outcome]++
	if outcome == Error {
		group.addError(indexOfCode(code), 1)
	}
	return c
}

// fold adds a decision's timers and counters to its cell.
func (g *Groups) fold(f *folding, c *cell) {
	if c.stages == nil {
		c.reserve(f.timers())
	}
	stage, counter := 0, 0 // where the next one is if this decision is as others
	for i := range f.n {
		e := f.entry(i)
		m := e.metric
		if m.column == otherColumn {
			m = g.names.catalog.labels(m.kind).isOther
		}
		if m.kind == counterKind {
			counter = c.counterAt(m, counter)
			c.counters[counter].add(uint64(e.value))
			counter++
			continue
		}
		stage = c.stageAt(m, stage, &g.empty)
		c.stages[stage].add(e.value, e.covered)
		stage++
	}
}

// groupOf returns the group of a key, which is made if there is room.
func (g *Groups) groupOf(key []byte) *group {
	recent := &g.recent[recentIndex(key)]
	if string(key) == (*recent).key {
		return *recent
	}
	group, ok := g.byKey[string(key)]
	if !ok {
		group = g.admitGroup(key)
	}
	*recent = group
	return group
}

// recentIndex returns a key's place in Groups.recent. It looks at the first,
// the middle and the last 8 bytes: keys that differ elsewhere alone push each
// other out, at the price of a look-up in the map.
func recentIndex(key []byte) uint {
	n := len(key)
	if n < 8 {
		return uint(KeyHash(key) % recentGroups)
	}
	h := binary.LittleEndian.Uint64(key) * 0x9E3779B97F4A7C15
	h += binary.LittleEndian.Uint64(key[n/2-4:]) * 0xC2B2AE3D27D4EB4F
	h += binary.LittleEndian.Uint64(key[n-8:]) * 0x165667B19E3779F9
	return uint(h >> 32 % recentGroups)
}

// admitGroup is groupOf of a key that was not found.
func (g *Groups) admitGroup(key []byte) *group {
	if !utf8.Valid(key) {
		key = []byte(valid(string(key)))
		if group, ok := g.byKey[string(key)]; ok {
			return group
		}
	}
	hash := KeyHash(key)
	if len(key) > maxName || !g.kept.admits(hash, key, g.options.Limits.Groups) {
		g.overflow.Decisions++
		return g.other
	}
	group := &group{key: string(key), hash: hash}
	g.keep(group)
	g.fit()
	return group
}

// keep gives a group the room that it has, and takes it from another if need
// be.
func (g *Groups) keep(x *group) {
	g.byKey[x.key] = x
	g.kept.add(x)
	if len(g.kept) > g.options.Limits.Groups {
		highest := g.kept.removeHighest()
		delete(g.byKey, highest.key)
		if recent := &g.recent[recentIndex([]byte(highest.key))]; *recent == highest {
			*recent = g.other
		}
		g.displace(highest)
	}
}

// displace merges a group that has no room into group Other.
func (g *Groups) displace(x *group) {
	g.overflow.Decisions += x.decisions()
	g.other.merge(x, &g.empty)
}

// namesOfCell is by how many names beyond the tables a cell is as much as two.
const namesOfCell = 64

// fit keeps to the limits after there are more groups, names or slices.
//
// None of the numbers it looks at falls, but for that of names, once there are
// more groups than Cells: by then there is one slice. So what it comes to does
// not depend on the order in which they rise.
func (g *Groups) fit() {
	l, n := &g.options.Limits, int64(max(len(g.kept), 1))
	g.fitNames(int(min(int64(l.Names), max(1, int64(l.Names)*int64(l.Cells)/n))))
	names := int64(len(g.names.kept[stageKind]) + len(g.names.kept[counterKind]))
	g.fitSlices(int(min(int64(l.Slices), max(1, int64(l.Cells)*namesOfCell/(n*(namesOfCell+names))))))
}

// all calls f with each group, Other's too.
func (g *Groups) all(f func(*group)) {
	f(g.other)
	for _, group := range g.kept {
		f(group)
	}
}

// Merge adds what o holds, which must have been made with the same options and
// is not used any more.
func (g *Groups) Merge(o *Groups) error {
	switch a, b := &g.options, &o.options; {
	case g == o:
		return errors.New("rollup: merge: groups cannot be merged with themselves")
	case a.Limits != b.Limits || !slices.Equal(a.Stages, b.Stages) || !slices.Equal(a.Counters, b.Counters):
		return errors.New("rollup: merge: the groups have other options: make both with the same")
	}
	g.rename(o)
	for g.width < o.width {
		g.double()
	}
	for o.width < g.width {
		o.double()
	}
	g.overflow.add(o.overflow)
	g.other.merge(o.other, &g.empty)
	for _, x := range o.kept {
		if own, ok := g.byKey[x.key]; ok {
			own.merge(x, &g.empty)
		} else if g.kept.admits(x.hash, []byte(x.key), g.options.Limits.Groups) {
			g.keep(x)
		} else {
			g.displace(x)
		}
	}
	for index := range o.begins {
		g.begins[index] = struct{}{}
	}
	g.fit()
	g.sweep()
	return nil
}

// Width returns the width of the slices, in ns.
func (g *Groups) Width() int64 { return g.width }

// Overflow counts what had no name or group of its own for want of room.
func (g *Groups) Overflow() GroupOverflow {
	g.sweep()
	return g.overflow
}

// GroupOverflow is what had no room: so many decisions are in group [Other],
// timers in stage Other, and counters (by how much they were raised) in counter
// Other. All are modulo 2^64.
type GroupOverflow struct{ Decisions, Stages, Counters uint64 }

func (o *GroupOverflow) add(more GroupOverflow) {
	o.Decisions += more.Decisions
	o.Stages += more.Stages
	o.Counters += more.Counters
}
