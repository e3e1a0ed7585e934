// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"math"
	"unicode/utf8"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// Groups folds decisions into groups by a key, such as their path, and each
// group into slices of time. A [rollup.Rollup] is for a server, whose memory
// must stay small whatever its clients send. Groups is for a log that is read
// once. It keeps all stages and counters of each group by name, and has room
// for very many names. Only one goroutine at a time may use Groups. Groups can
// be merged.
//
// The result, including the effect of the limits, depends only on the
// decisions. It does not depend on their order, nor on how they were
// distributed among Groups that were merged later:
//
//   - The keys with the lowest keyHash have a group, up to Limits.Groups. All
//     other keys are in group Other, and so are the empty key and "other".
//     U+FFFD replaces invalid UTF-8. A key of more than 1,024 bytes has no
//     room.
//   - The slices of all groups have the same width. It is Limits.Width, doubled
//     until the limits allow the slices.
//   - Stages and counters of OPA's tables are always kept. Among the other
//     names, those with the lowest keyHash are kept, up to Limits.Names. All
//     other stages are in stage Other, and all other counters in counter Other.
//     A stage of a family has its own name, and is nested like the family.
type Groups struct {
	limits Limits // with the defaults filled in
	names  names

	byKey map[string]*group
	kept  lowest // the keys except Other
	room  *room  // or nil
	other *group
	added *group // to which Add added last

	width    int64
	begins   map[int64]struct{} // the slices that have decisions, by index
	overflow uint64             // decisions without a group of their own
	sums     sums

	// Memory that later calls use again.
	folding stages.Folding
	content exphist.Content
}

// Limits bounds the memory of Groups. 0 stands for the default.
type Limits struct {
	// Groups limits the keys with a group of their own. The default is 65,536.
	Groups int
	// Names limits the stages, and also the counters, that keep their own name
	// although they are not in the tables. With more groups than Cells, the
	// limit is Names·Cells/groups, and at least one. The default is 256.
	Names int
	// Width is the smallest width of a slice, in ns. It is doubled, and slices
	// are merged, until at most Slices slices have decisions and there are at
	// most Cells/(g·(1+n/64)) slices, or one. Here g is the number of groups
	// except Other. n is the number of stages and counters that keep a name
	// that is not in the tables. Slices begin at multiples of their width since
	// 1970. A width that cannot be doubled in an int64 stays, so there may be
	// up to four slices in any case. The default is one minute.
	Width int64
	// Slices and Cells limit the slices, as Width describes. The defaults are
	// 240 and 32,768.
	Slices int
	Cells  int
}

// New returns empty groups. No limit may be above 2^30, except the width.
func New(l Limits) *Groups {
	l = Limits{
		Groups: cmp.Or(l.Groups, 65_536), Names: cmp.Or(l.Names, 256), Width: cmp.Or(l.Width, 60e9),
		Slices: cmp.Or(l.Slices, 240), Cells: cmp.Or(l.Cells, 32_768),
	}
	other := &group{key: rollup.Other, period: never}
	return &Groups{
		limits: l,
		names:  newNames(l.Names),
		byKey:  map[string]*group{rollup.Other: other},
		other:  other,
		width:  l.Width,
		begins: map[int64]struct{}{},
	}
}

// ShareRoom tells groups, which must be empty and have the same limits, that
// they will be merged. Each of them then leaves out the keys for which the
// others leave no room. One goroutine at a time may use each.
func ShareRoom(all ...*Groups) {
	r := &room{most: all[0].limits.Groups}
	r.limit.Store(math.MaxUint64)
	for _, g := range all {
		g.room = r
	}
}

// Metric returns the number that [Groups.Add] takes for the metric with this
// key, such as "timer_rego_query_eval_ns". The number is negative if the metric
// is neither a timer nor a counter. No other key gets the number until
// [Groups.Forget]. U+FFFD replaces invalid UTF-8. Metric copies the key.
func (g *Groups) Metric(key []byte) int32 { return g.names.find(stages.Valid(string(key))) }

// Forget frees the memory that belongs to the numbers from [Groups.Metric]. The
// numbers become invalid.
func (g *Groups) Forget() {
	n := &g.names
	numbers, metrics := n.numbers, n.metrics
	n.numbers, n.metrics = map[string]int32{}, nil
	for k := range n.kept {
		for _, name := range n.kept[k] {
			key := stages.KeyOf(stages.Kind(k), name.text)
			n.add(key, metrics[numbers[key]])
		}
	}
}

// Add adds a decision. Its time is in ns since 1970, or logread.NoTime. Add
// copies the key. It ignores unknown metrics, negative timers, and counters
// below 1. Each metric should be among the measures only once.
func (g *Groups) Add(key []byte, time int64, o outcome.Outcome, code string, measures []logread.Measure) {
	n, f := &g.names, &g.folding
	if n.displaced > g.limits.Names {
		n.sweep(g.byKey)
	}
	f.Reset()
	for _, x := range measures {
		if uint(x.Metric) >= uint(len(n.metrics)) {
			continue
		}
		m := n.metrics[x.Metric]
		if x.Value < 0 || x.Value == 0 && m.Kind == stages.Counter {
			continue
		}
		if m.Column <= stages.OtherColumn {
			m = n.resolve(x.Metric, g.fit)
		}
		f.Put(m, x.Value)
	}
	f.Cover()
	g.added = g.groupOf(key)
	g.added.widen(period{time, time})
	c := g.cellOf(g.added, time)
	c.outcomes[o.Valid()]++
	if o.Valid() == outcome.Failed {
		g.added.addError(codeOrOther(code), 1)
	}
	counters := 0
	for i := range f.N {
		v := f.At(i)
		m := v.Metric
		if m.Column == stages.OtherColumn {
			m = n.isOther[m.Kind]
		}
		if m.Kind == stages.Counter {
			c.addCounter(counters, m, Sum{Lo: uint64(v.Value)})
			counters++
		} else {
			if c.stages == nil { // most cells never get more stages than there are still values
				c.stages.reserve(f.N - i)
			}
			c.stages.at(i-counters, m).add(v.Value, v.Covered)
		}
	}
}

// AddEvent adds the sizes of the event whose decision [Groups.Add] has just
// added.
func (g *Groups) AddEvent(total, input, result, cache int) {
	g.added.sizes.merge(&Sizes{Total: uint64(total), Max: uint64(total), Input: uint64(input), Result: uint64(result), Cache: uint64(cache)})
}

// groupOf returns the group of a key. It makes the group if there is room.
func (g *Groups) groupOf(key []byte) *group {
	if x, ok := g.byKey[string(key)]; ok {
		return x
	}
	switch {
	case len(key) == 0:
		return g.other
	case !utf8.Valid(key):
		return g.groupOf([]byte(stages.Valid(string(key))))
	case len(key) <= stages.MaxName && g.admits(key):
		g.keep(&group{key: string(key), period: never})
		g.fit()
		if x, ok := g.byKey[string(key)]; ok { // no other goroutine has taken the room
			return x
		}
	}
	g.overflow++
	return g.other
}

// cellOf returns a group's cell for a time.
func (g *Groups) cellOf(x *group, time int64) *cell {
	index := g.indexOf(time)
	if x.recent < len(x.cells) && x.cells[x.recent].index == index {
		return &x.cells[x.recent]
	}
	if _, ok := g.begins[index]; !ok && time != logread.NoTime {
		g.begins[index] = struct{}{}
		g.fit()
		index = g.indexOf(time) // because fit may double the width
	}
	return x.cell(index)
}

// admits reports whether a key that has no group would have room.
func (g *Groups) admits(key []byte) bool {
	return g.kept.admits(key, g.limits.Groups) && (g.room == nil || g.room.has(keyHash(key)))
}

// keep adds a group. If there are then too many, it displaces the groups of the
// highest ranks.
func (g *Groups) keep(x *group) {
	g.byKey[x.key] = x
	g.room.add(g.kept.add(x.key))
	for len(g.kept) > g.limits.Groups || len(g.kept) > 0 && !g.room.has(g.kept[0].hash) {
		highest := g.kept.removeHighest()
		g.displace(g.byKey[highest])
		delete(g.byKey, highest)
	}
}

// displace merges a group that has no room into group Other.
func (g *Groups) displace(x *group) {
	for i := range x.cells {
		g.overflow += x.cells[i].decisions()
	}
	g.other.merge(x)
}

// namesOfCell extra names, which are not in the tables, count as one more cell.
const namesOfCell = 64

// fit applies the limits. It is called after groups, names or slices have been
// added.
//
// The limits on names and slices fall as groups and names are added. The number
// of groups never falls. The number of names falls only if there are more
// groups than Cells, and then there is only one slice. So the result does not
// depend on the order of the additions.
func (g *Groups) fit() {
	l, n := &g.limits, int64(max(len(g.kept), 1))
	g.names.fitNames(int(min(int64(l.Names), max(1, int64(l.Names)*int64(l.Cells)/n))))
	names := int64(len(g.names.kept[stages.Timer]) + len(g.names.kept[stages.Counter]))
	slices := min(int64(l.Slices), max(1, int64(l.Cells)*namesOfCell/(n*(namesOfCell+names))))
	for int64(len(g.begins)) > slices && g.width <= math.MaxInt64/2 {
		g.double()
	}
}

// indexOf returns the index of the slice that contains the time.
func (g *Groups) indexOf(time int64) int64 {
	if time == logread.NoTime {
		return logread.NoTime
	}
	index := time / g.width
	if time%g.width < 0 {
		index--
	}
	return index
}

// beginOf returns the time at which a slice begins. It is above
// logread.NoTime for all slices with a time.
func (g *Groups) beginOf(index int64) int64 {
	switch {
	case index == logread.NoTime:
		return logread.NoTime
	case index < math.MinInt64/g.width:
		return logread.NoTime + 1
	}
	return max(index*g.width, logread.NoTime+1)
}

// double doubles the width of the slices, and merges cells of all groups.
func (g *Groups) double() {
	g.width *= 2
	begins := make(map[int64]struct{}, len(g.begins))
	for index := range g.begins {
		begins[index>>1] = struct{}{}
	}
	g.begins = begins
	for _, x := range g.byKey {
		x.double()
	}
}

// Width returns the width of the slices, in ns.
func (g *Groups) Width() int64 { return g.width }

// Overflow returns the number of decisions whose key has no room for a group.
func (g *Groups) Overflow() uint64 { return g.overflow }
