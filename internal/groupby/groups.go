// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/rollup"
)

// Groups folds decisions into groups by a key, such as their path, and each
// group into slices of time. A [rollup.Rollup] is for a server that must stay
// small for ever, whatever its clients send. Groups is for a log that is read
// once: it keeps all stages and counters of each group, by their names, and has
// room for very many. It is for one goroutine. Groups can be merged.
//
// What it holds, also by its limits, depends on the decisions alone. It depends
// neither on their order nor on the Groups that they were added to before these
// were merged:
//
//   - The keys with the lowest keyHash have a group, up to Limits.Groups. All
//     other keys are in group Other. An empty key and "other" are Other. Bytes
//     that are not UTF-8 are replaced by U+FFFD. A key of more than 1,024 bytes
//     has no room.
//   - The slices of all groups have one width: Limits.Width, doubled until no
//     more slices than the limits allow are needed.
//   - Of the stages and counters that are not in OPA's tables, the names with
//     the lowest keyHash are kept, up to Limits.Names. All other stages are in
//     stage Other, all other counters in counter Other. A stage of a family has
//     its own name, and is nested as the family is.
type Groups struct {
	limits Limits // with the defaults
	names  names

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
	folding  stages.Folding // empty, with memory to use again
	overflow Overflow
	sums     sums
	content  exphist.Content // memory for reading histograms
}

const recentGroups = 1024

// Limits bounds the memory of Groups. 0 stands for the default.
type Limits struct {
	// Groups limits the keys that have a group of their own. Default: 65,536.
	Groups int
	// Names limits the stages, and the counters, that have a name although they
	// are not in the tables. With more groups than Cells, the limit is
	// Names·Cells/groups, and at least one. Default: 256.
	Names int
	// Width is the least width of a slice, in ns. It is doubled, and slices are
	// merged, until at most Slices slices have decisions. It is doubled further
	// until there are at most Cells/(g·(1+n/64)) slices, or one. Here g is the
	// number of groups except Other, and n the number of stages and counters
	// with a name that is not in the tables. Slices begin at multiples of their
	// width since 1970. A width that cannot be doubled in an int64 stays, so
	// there may always be four slices. Default: one minute.
	Width int64
	// Slices and Cells are described at Width. Defaults: 240 and 8,192.
	Slices, Cells int
}

var defaults = Limits{Groups: 65_536, Names: 256, Width: 60e9, Slices: 240, Cells: 8192}

// maxLimit limits the limits, so that two of them can be multiplied.
const maxLimit = 1 << 30

func (l Limits) withDefaults() Limits {
	d := &defaults
	return Limits{
		cmp.Or(l.Groups, d.Groups), cmp.Or(l.Names, d.Names),
		cmp.Or(l.Width, d.Width), cmp.Or(l.Slices, d.Slices), cmp.Or(l.Cells, d.Cells),
	}
}

func (l Limits) check() error {
	d := &defaults
	for _, f := range [...]struct {
		name                  string
		value, fallback, most int64
	}{
		{"Groups", int64(l.Groups), int64(d.Groups), maxLimit},
		{"Names", int64(l.Names), int64(d.Names), maxLimit},
		{"Width", l.Width, d.Width, math.MaxInt64},
		{"Slices", int64(l.Slices), int64(d.Slices), maxLimit},
		{"Cells", int64(l.Cells), int64(d.Cells), maxLimit},
	} {
		if f.value < 0 || f.value > f.most {
			return fmt.Errorf("limits: %s is %d: it must be 0, which stands for %d, or from 1 to %d",
				f.name, f.value, f.fallback, f.most)
		}
	}
	return nil
}

// New returns empty groups, or an error that names the limit that is out of
// range.
func New(l Limits) (*Groups, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	l = l.withDefaults()
	other := &group{key: rollup.Other}
	g := &Groups{
		limits: l,
		names:  newNames(l.Names),
		byKey:  map[string]*group{"": other, rollup.Other: other},
		other:  other,
		width:  l.Width,
		begins: map[int64]struct{}{},
	}
	for i := range g.recent {
		g.recent[i] = other
	}
	return g, nil
}

// Add folds in a decision at a time, in ns since 1970, or decisionlog.NoTime.
// It copies the key. A metric should be among the measures once. Add leaves
// alone unknown metrics, negative timers, and counters that are not above 0.
func (g *Groups) Add(key []byte, time int64, outcome rollup.Outcome, code string, measures []decisionlog.Measure) {
	if g.names.displaced > g.limits.Names {
		g.sweep() // not later, when a decision that is being folded may have one of them
	}
	if p := g.planAt(measures); p.fits(measures, g.names.version) {
		g.addPlanned(g.count(key, time, outcome, code), p, measures)
	} else {
		g.addAny(key, time, outcome, code, measures, p)
	}
}

// addAny is Add of a decision that fits no plan. It makes p the plan of it.
func (g *Groups) addAny(key []byte, time int64, outcome rollup.Outcome, code string, measures []decisionlog.Measure, p *plan) {
	f := &g.folding
	for i := range measures {
		number, value := measures[i].Metric, measures[i].Value
		if uint(number) >= uint(len(g.names.metrics)) {
			continue
		}
		m := g.names.metrics[number]
		if value < 0 || value == 0 && m.Kind == stages.Counter {
			continue
		}
		if m.Column <= stages.OtherColumn {
			m = g.settle(number, value)
		}
		f.Put(m, value)
	}
	if f.N == len(measures) {
		p.set(measures, f, g.names.version)
	}
	f.Cover()
	g.fold(f, g.count(key, time, outcome, code))
	f.Reset()
}

// count counts a decision in its cell, and returns that.
func (g *Groups) count(key []byte, time int64, outcome rollup.Outcome, code string) *cell {
	group := g.groupOf(key)
	c := g.cellOf(group, time)
	if int(outcome) >= outcomes {
		outcome = rollup.OtherResult
	}
	c.outcomes[outcome]++
	if outcome == rollup.Error {
		group.addError(knownCode(code), 1)
	}
	return c
}

// fold adds a decision's timers and counters to its cell.
func (g *Groups) fold(f *stages.Folding, c *cell) {
	if c.stages == nil {
		timers := 0
		for i := range f.N {
			if f.At(i).Metric.Kind == stages.Timer {
				timers++
			}
		}
		c.reserve(timers)
	}
	stage, counter := 0, 0 // where the next one is if this decision is as others
	for i := range f.N {
		e := f.At(i)
		m := e.Metric
		if m.Column == stages.OtherColumn {
			m = g.names.isOther[m.Kind]
		}
		if m.Kind == stages.Counter {
			counter = c.counterAt(m, counter)
			c.counters[counter].add(uint64(e.Value))
			counter++
			continue
		}
		stage = c.stageAt(m, stage)
		c.stages[stage].add(e.Value, e.Covered)
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
		return uint(keyHash(key) % recentGroups)
	}
	h := binary.LittleEndian.Uint64(key) * 0x9E3779B97F4A7C15
	h += binary.LittleEndian.Uint64(key[n/2-4:]) * 0xC2B2AE3D27D4EB4F
	h += binary.LittleEndian.Uint64(key[n-8:]) * 0x165667B19E3779F9
	return uint(h >> 32 % recentGroups)
}

// admitGroup is groupOf of a key that was not found.
func (g *Groups) admitGroup(key []byte) *group {
	if !utf8.Valid(key) {
		key = []byte(stages.Valid(string(key)))
		if group, ok := g.byKey[string(key)]; ok {
			return group
		}
	}
	hash := keyHash(key)
	if len(key) > stages.MaxName || !g.kept.admits(hash, key, g.limits.Groups) {
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
	if len(g.kept) > g.limits.Groups {
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
	g.other.merge(x)
}

// namesOfCell is the number of names beyond the tables with which a cell counts
// as two.
const namesOfCell = 64

// fit keeps to the limits after there are more groups, names or slices.
//
// The numbers of groups and slices never fall. The number of names falls only
// when there are more groups than Cells, and then there is one slice. So the
// result does not depend on the order in which they rise.
func (g *Groups) fit() {
	l, n := &g.limits, int64(max(len(g.kept), 1))
	g.fitNames(int(min(int64(l.Names), max(1, int64(l.Names)*int64(l.Cells)/n))))
	names := int64(len(g.names.kept[stages.Timer]) + len(g.names.kept[stages.Counter]))
	g.fitSlices(int(min(int64(l.Slices), max(1, int64(l.Cells)*namesOfCell/(n*(namesOfCell+names))))))
}

// all calls f with each group, Other's too.
func (g *Groups) all(f func(*group)) {
	f(g.other)
	for _, group := range g.kept {
		f(group)
	}
}

// Merge adds what o holds, which must have the same limits. The caller must not
// use o afterwards. It fails, and changes nothing, if the limits differ or the
// counts of both may exceed 64 bits.
func (g *Groups) Merge(o *Groups) error {
	if g == o {
		return errors.New("groups cannot be merged with themselves")
	}
	if g.limits != o.limits {
		return errors.New("the groups have other limits: make both with the same")
	}
	sums := g.sums
	if err := sums.add(o.sums); err != nil {
		return err
	}
	g.sums = sums
	g.rename(o)
	for g.width < o.width {
		g.double()
	}
	for o.width < g.width {
		o.double()
	}
	g.overflow.add(o.overflow)
	g.other.merge(o.other)
	for _, x := range o.kept {
		g.put(x)
	}
	for index := range o.begins {
		g.begins[index] = struct{}{}
	}
	g.fit()
	g.sweep()
	return nil
}

// put adds a group, whose metrics are g's.
func (g *Groups) put(x *group) {
	if own, ok := g.byKey[x.key]; ok {
		own.merge(x)
	} else if g.kept.admits(x.hash, []byte(x.key), g.limits.Groups) {
		g.keep(x)
	} else {
		g.displace(x)
	}
}

// Limits returns the limits, with the defaults.
func (g *Groups) Limits() Limits { return g.limits }

// Width returns the width of the slices, in ns.
func (g *Groups) Width() int64 { return g.width }

// Overflow returns what had no name or group of its own because there was no
// room.
func (g *Groups) Overflow() Overflow {
	g.sweep()
	return g.overflow
}

// Overflow counts what had no room: the decisions in group Other, the timers in
// stage Other, and the increments of counter Other, up to 2^64−1.
type Overflow struct{ Decisions, Stages, Counters uint64 }

func (o *Overflow) add(more Overflow) {
	o.Decisions += more.Decisions
	o.Stages += more.Stages
	o.Counters = saturated(o.Counters, more.Counters)
}
