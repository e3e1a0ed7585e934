// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/wire"
)

// The binary form of Groups is told in docs/rgm.md.

// maxEntries is how many stages, and how many counters, the options of Groups
// may add to the tables that have a binary form: making the tables takes time
// that grows with the square of it.
const maxEntries = 1000

// AppendBinary appends all that g holds, with its options, as ReadGroups reads
// it. Groups that hold the same give the same bytes, in whatever order that was
// added or merged. It is an error if the options add more than 1,000 stages or
// counters.
func (g *Groups) AppendBinary(dst []byte) ([]byte, error) {
	if len(g.options.Stages) > maxEntries || len(g.options.Counters) > maxEntries {
		return dst, fmt.Errorf("rollup: groups with %d more stages and %d more counters cannot be written: at most %d are allowed of each",
			len(g.options.Stages), len(g.options.Counters), maxEntries)
	}
	g.sweep()
	w := newGroupWriter(g)
	dst = w.appendHead(dst)
	dst, err := w.appendGroup(dst, g.other)
	if err != nil {
		return dst, err
	}
	groups := slices.SortedFunc(slices.Values(g.kept), func(a, b *group) int { return strings.Compare(a.key, b.key) })
	dst = wire.AppendUint(dst, uint64(len(groups)))
	before := ""
	for _, x := range groups {
		shared := sharedPrefix(before, x.key)
		dst = wire.AppendUint(dst, uint64(shared))
		dst = wire.AppendString(dst, x.key[shared:])
		if dst, err = w.appendGroup(dst, x); err != nil {
			return dst, err
		}
		before = x.key
	}
	return dst, nil
}

// sharedPrefix returns how many bytes two keys begin with alike.
func sharedPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// groupWriter knows by what numbers names, codes and slices are written.
type groupWriter struct {
	*Groups
	names     [counterKind + 1][]string // sorted, by kind
	numbers   map[*metric]int
	codes     []int // sorted
	slices    []int64
	numberOf  map[int64]int // of a slice; 0 is that of NoTime
	durations exphist.Snapshot
}

func newGroupWriter(g *Groups) *groupWriter {
	w := &groupWriter{Groups: g, numbers: map[*metric]int{}, numberOf: map[int64]int{noTimeIndex: 0}}
	var metrics [counterKind + 1][]*metric
	add := func(m *metric) {
		if _, ok := w.numbers[m]; !ok {
			w.numbers[m] = 0
			metrics[m.kind] = append(metrics[m.kind], m)
		}
	}
	codes := map[int]bool{}
	g.all(func(x *group) {
		for i := range x.cells {
			for _, s := range x.cells[i].stages {
				add(s.metric)
			}
			for _, t := range x.cells[i].counters {
				add(t.metric)
			}
		}
		for _, e := range x.errors {
			codes[e.code] = true
		}
	})
	for k := range metrics {
		slices.SortFunc(metrics[k], func(a, b *metric) int { return strings.Compare(a.name, b.name) })
		for i, m := range metrics[k] {
			w.numbers[m] = i
			w.names[k] = append(w.names[k], m.name)
		}
	}
	w.codes = slices.Sorted(maps.Keys(codes))
	w.slices = slices.Sorted(maps.Keys(g.begins))
	for i, index := range w.slices {
		w.numberOf[index] = 1 + i
	}
	return w
}

// appendHead appends what is before the groups.
func (w *groupWriter) appendHead(dst []byte) []byte {
	l := &w.options.Limits
	for _, limit := range [...]int64{int64(l.Groups), int64(l.Names), l.Width, int64(l.Slices), int64(l.Cells)} {
		dst = wire.AppendUint(dst, uint64(limit))
	}
	dst = wire.AppendUint(dst, uint64(len(w.options.Stages)))
	for _, s := range w.options.Stages {
		dst = wire.AppendString(dst, s.Name)
		dst = wire.AppendString(dst, s.Parent)
		dst = wire.AppendString(dst, s.Help)
	}
	dst = appendStrings(dst, w.options.Counters)

	doublings := uint64(0)
	for width := l.Width; width < w.width; width *= 2 {
		doublings++
	}
	dst = wire.AppendUint(dst, doublings)
	dst = wire.AppendUint(dst, uint64(len(w.slices)))
	for i, index := range w.slices {
		if i == 0 {
			dst = wire.AppendInt(dst, index)
		} else {
			dst = wire.AppendUint(dst, uint64(index-w.slices[i-1])-1)
		}
	}
	for _, n := range [...]uint64{w.overflow.Decisions, w.overflow.Stages, w.overflow.Counters} {
		dst = wire.AppendUint(dst, n)
	}
	dst = appendStrings(dst, w.names[stageKind])
	dst = appendStrings(dst, w.names[counterKind])
	dst = wire.AppendUint(dst, uint64(len(w.codes)))
	for _, code := range w.codes {
		dst = wire.AppendString(dst, codeAt(code))
	}
	return dst
}

func appendStrings(dst []byte, list []string) []byte {
	dst = wire.AppendUint(dst, uint64(len(list)))
	for _, s := range list {
		dst = wire.AppendString(dst, s)
	}
	return dst
}

// appendNext appends the next of ascending numbers, from 0 up.
func appendNext(dst []byte, before *int, number int) []byte {
	dst = wire.AppendUint(dst, uint64(number-*before-1))
	*before = number
	return dst
}

func (w *groupWriter) appendGroup(dst []byte, x *group) (_ []byte, err error) {
	dst = wire.AppendUint(dst, uint64(len(x.errors)))
	slices.SortFunc(x.errors, func(a, b errorCount) int { return cmp.Compare(a.code, b.code) })
	before := -1
	for _, e := range x.errors {
		at, _ := slices.BinarySearch(w.codes, e.code)
		dst = appendNext(dst, &before, at)
		dst = wire.AppendUint(dst, e.total)
	}
	dst = wire.AppendUint(dst, uint64(len(x.cells)))
	before = -1
	for i := range x.cells {
		dst = appendNext(dst, &before, w.numberOf[x.cells[i].index])
		if dst, err = w.appendCell(dst, &x.cells[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (w *groupWriter) appendCell(dst []byte, c *cell) (_ []byte, err error) {
	are := uint64(0)
	for o, n := range c.outcomes {
		if n > 0 {
			are |= 1 << o
		}
	}
	dst = wire.AppendUint(dst, are)
	for _, n := range c.outcomes {
		if n > 0 {
			dst = wire.AppendUint(dst, n)
		}
	}
	c.sort()
	dst = wire.AppendUint(dst, uint64(len(c.stages)))
	before := -1
	for i := range c.stages {
		s := &c.stages[i]
		dst = appendNext(dst, &before, w.numbers[s.metric])
		s.durations.Snapshot(&w.durations)
		if dst, err = w.durations.AppendBinary(dst); err != nil {
			return dst, err
		}
		dst = wire.AppendUint128(dst, s.covered.Hi, s.covered.Lo)
		dst = wire.AppendUint(dst, s.unfinished)
	}
	dst = wire.AppendUint(dst, uint64(len(c.counters)))
	before = -1
	for _, t := range c.counters {
		dst = appendNext(dst, &before, w.numbers[t.metric])
		dst = wire.AppendUint128(dst, t.total.Hi, t.total.Lo)
	}
	return dst, nil
}

// ReadGroups returns Groups with what AppendBinary has written of others, and
// their options. It is an error if text is anything else. Whatever it is, the
// memory that is taken is bounded by a multiple of its length: some 20 times
// for what was written, and at most 300 times if it is made to take much.
func ReadGroups(text []byte) (*Groups, error) {
	r := groupReader{Reader: wire.NewReader(text)}
	r.readHead()
	if r.Err() == nil {
		r.readGroups()
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("rollup: groups: %w", err)
	}
	r.fit()
	r.sweep()
	return r.Groups, nil
}

// groupReader reads what a groupWriter wrote.
type groupReader struct {
	*wire.Reader
	*Groups
	metrics   [counterKind + 1][]*metric // by kind and number
	codes     []int
	slices    []int64
	layout    exphist.Layout
	durations exphist.Snapshot
}

// readHead reads what is before the groups, and makes them.
func (r *groupReader) readHead() {
	var o GroupOptions
	o.Limits.Groups = int(r.Uint(maxGroupLimit))
	o.Limits.Names = int(r.Uint(maxGroupLimit))
	o.Limits.Width = int64(r.Uint(math.MaxInt64))
	o.Limits.Slices = int(r.Uint(maxGroupLimit))
	o.Limits.Cells = int(r.Uint(maxGroupLimit))
	for range r.Uint(maxEntries) {
		o.Stages = append(o.Stages, Stage{r.String(math.MaxInt), r.String(math.MaxInt), r.String(math.MaxInt)})
	}
	for range r.Uint(maxEntries) {
		o.Counters = append(o.Counters, r.String(math.MaxInt))
	}
	if r.Err() != nil {
		return
	}
	g, err := NewGroups(o)
	if err != nil {
		r.Fail("%w", err)
		return
	}
	r.Groups, r.layout = g, exphist.DefaultLayout(exphist.Nanosecond)
	doublings := r.Uint(63)
	if g.width > math.MaxInt64>>doublings {
		r.Fail("the slices are wider than %d ns doubled %d times", g.width, doublings)
		return
	}
	g.width <<= doublings
	g.setCurrent(0)
	r.readSlices()
	g.overflow = GroupOverflow{r.Uint(math.MaxUint64), r.Uint(math.MaxUint64), r.Uint(math.MaxUint64)}
	r.readNames(stageKind)
	r.readNames(counterKind)
	for range r.Count(1) {
		r.codes = append(r.codes, indexOfCode(r.String(maxName)))
	}
}

func (r *groupReader) readSlices() {
	first, last := r.indexOf(NoTime+1), r.indexOf(math.MaxInt64)
	for i := range r.Count(1) {
		var index int64
		if i == 0 {
			index = r.Int()
		} else if index = r.slices[i-1]; index < last {
			index += 1 + int64(r.Uint(uint64(last-index)-1))
		} else {
			r.Fail("there are slices after the last time")
		}
		if index < first || index > last {
			r.Fail("slice %d is not within the times that there are", index)
		}
		if r.Err() != nil {
			return
		}
		r.slices = append(r.slices, index)
	}
}

// readNames reads the names of stages or counters, and gives them room.
func (r *groupReader) readNames(k kind) {
	before := ""
	for range r.Count(2) {
		name := r.String(maxName)
		if name <= before || !utf8.ValidString(name) {
			r.Fail("name %.80q is not valid, or not in order", name)
		}
		if r.Err() != nil {
			return
		}
		before = name
		number := r.Metric([]byte(keyOf(k, name)))
		if r.names.metrics[number].column == pendingColumn {
			r.admitName(number)
		}
		m := r.names.metrics[number]
		if m.overflows || r.names.displaced > 0 {
			r.Fail("there are more names than its limits allow")
			return
		}
		r.metrics[k] = append(r.metrics[k], m)
	}
}

func (r *groupReader) readGroups() {
	r.readGroup(r.other)
	n := r.Count(groupBytes)
	if n > r.options.Limits.Groups {
		r.Fail("there are %d groups, more than its limits allow", n)
	}
	before := ""
	for range n {
		shared := r.Uint(uint64(len(before)))
		if r.Err() != nil {
			return
		}
		key := before[:shared] + r.String(maxName)
		if key <= before || key == Other || len(key) > maxName || !utf8.ValidString(key) {
			r.Fail("group %.80q is not valid, or not in order", key)
			return
		}
		x := &group{key: key, hash: KeyHash([]byte(key))}
		r.readGroup(x)
		if len(x.cells) == 0 {
			r.Fail("group %.80q has no decisions", key)
		}
		r.keep(x)
		before = key
	}
}

// The least that things take.
const (
	groupBytes   = 5 + cellBytes
	cellBytes    = 5
	stageBytes   = 5
	counterBytes = 2
)

// next reads the next of ascending numbers, which are below n.
func (r *groupReader) next(before *int, n int) int {
	if *before+1 >= n {
		r.Fail("what is read has a number that stands for nothing")
		return 0
	}
	*before += 1 + int(r.Uint(uint64(n-*before-2)))
	return *before
}

func (r *groupReader) readGroup(x *group) {
	before := -1
	for range r.Count(2) {
		code := r.next(&before, len(r.codes))
		total := r.Uint(math.MaxUint64)
		if r.Err() != nil {
			return
		}
		x.addError(r.codes[code], total)
	}
	n := r.Count(cellBytes)
	x.cells = make([]cell, 0, n)
	before = -1
	for range n {
		number := r.next(&before, 1+len(r.slices))
		if r.Err() != nil {
			return
		}
		c := cell{index: noTimeIndex}
		if number > 0 {
			c.index = r.slices[number-1]
			r.begins[c.index] = struct{}{}
		}
		r.readCell(&c)
		x.cells = append(x.cells, c)
	}
}

func (r *groupReader) readCell(c *cell) {
	are := r.Uint(1<<outcomes - 1)
	if are == 0 {
		r.Fail("there is a slice without decisions")
	}
	for o := range c.outcomes {
		if are>>o&1 != 0 {
			if c.outcomes[o] = r.Uint(math.MaxUint64); c.outcomes[o] == 0 {
				r.Fail("there is an outcome without decisions")
			}
		}
	}
	n, before := r.Count(stageBytes), -1
	c.stages = make([]stageCell, 0, n)
	for range n {
		m := r.nextMetric(stageKind, &before)
		if r.Err() != nil {
			return
		}
		c.stages = append(c.stages, stageCell{metric: m, durations: r.empty})
		r.readStage(&c.stages[len(c.stages)-1])
	}
	n, before = r.Count(counterBytes), -1
	for range n {
		m := r.nextMetric(counterKind, &before)
		hi, lo := r.Uint128()
		if r.Err() != nil {
			return
		}
		c.counters = append(c.counters, counterCell{m, Sum{hi, lo}})
	}
}

// nextMetric reads which metric follows, nil after an error.
func (r *groupReader) nextMetric(k kind, before *int) *metric {
	number := r.next(before, len(r.metrics[k]))
	if r.Err() != nil {
		return nil
	}
	return r.metrics[k][number]
}

func (r *groupReader) readStage(s *stageCell) {
	rest, err := r.durations.CutBinary(r.layout, r.Rest())
	if err != nil {
		r.Fail("%w", err)
		return
	}
	r.SkipTo(rest)
	if err := s.durations.Merge(&r.durations); err != nil {
		panic(err) // all have one layout
	}
	s.covered.Hi, s.covered.Lo = r.Uint128()
	s.unfinished = r.Uint(math.MaxUint64)
	if hi, lo := r.durations.Sum(); s.covered.Hi > hi || s.covered.Hi == hi && s.covered.Lo > lo {
		r.Fail("the stages in stage %.80q took longer than it did", s.metric.name)
	}
}
