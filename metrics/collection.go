// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// collection is the implementation behind [New], in one allocation.
type collection struct {
	// cleared is the store that took the first one's place at Clear, or nil.
	cleared atomic.Pointer[store]
	first   store
}

// inlineMetrics is how many timers and counters a store holds without a
// further allocation: a decision of OPA's server records up to seven.
const inlineMetrics = 8

// store is what a collection holds between two Clears.
//
// The first timers and counters are inline: a list of names, with the numbers
// in a list beside it, so that looking a name up reads memory that is not
// written while another goroutine adds to a number. A metric is added by one
// CAS of a zero name; names are never removed, so the list ends at the first
// zero. They are no pointers, which spares the CAS a write barrier. What does
// not fit, and the histograms, go to the index.
//
// In a collection, everything above the cells is in one cache line of 64 bytes.
type store struct {
	more  atomic.Pointer[index]
	mu    sync.Mutex                   // guards insertion into more, and cache
	cache *jsonCache                   // see json.go
	names [inlineMetrics]atomic.Uint32 // see inlineName
	cells [inlineMetrics]cell          // see store.cell
}

// cell returns the cell of the name at place i. Neighbours among the names have
// cells in different cache lines, so that goroutines that each write one of
// them seldom wait for each other.
func (s *store) cell(i int) *cell {
	return &s.cells[(i%2*(inlineMetrics/2)+i/2)%inlineMetrics]
}

// inlineName is a name in a store: in its lower bits the id in the catalog, or
// 0 if the name is among the fresh ones of the index; above them the kind,
// which is never 0, the length, and bits of the last two bytes, by which most
// other names are told apart at once.
type inlineName uint32

const (
	idBits     = catalogBits + 1
	idMask     = 1<<idBits - 1
	endingBits = 10
	lengthBits = 32 - idBits - kindBits - endingBits
)

// distinction returns the upper part of an inlineName.
func distinction(kind Kind, name string) inlineName {
	n := len(name)
	d := inlineName(kind)<<lengthBits | inlineName(n)%(1<<lengthBits)
	d <<= endingBits
	if n >= 2 {
		ending := inlineName(name[n-2])<<8 | inlineName(name[n-1])
		d |= (ending ^ ending>>6) % (1 << endingBits)
	}
	return d << idBits
}

func (n inlineName) kind() Kind { return Kind(n >> (32 - kindBits)) }

// name returns the name at place i, which is n in the list.
func (s *store) name(i int, n inlineName) string {
	if id := n & idMask; id != 0 {
		return catalog[(id-1)%maxPlaces].descriptor.Load().name
	}
	return s.more.Load().fresh[i].name
}

// New returns a new, empty [Metrics]. It is one allocation, and so cheap
// enough to be made for each decision.
func New() Metrics { return new(collection) }

func (c *collection) store() *store {
	if s := c.cleared.Load(); s != nil {
		return s
	}
	return &c.first
}

func (*collection) Info() Info { return Info{Name: "<built-in>"} }

func (c *collection) Timer(name string) Timer {
	return (*timer)(c.store().number(KindTimer, name))
}

func (c *collection) Counter(name string) Counter {
	return (*counter)(c.store().number(KindCounter, name))
}

func (c *collection) Histogram(name string) Histogram {
	return c.store().indexed(KindHistogram, name).histogram
}

func (c *collection) Clear() {
	// A store in a collection, since that is what fits the cache lines.
	old := c.cleared.Swap(&new(collection).first)
	if old == nil { // the first store, which stays in memory
		c.first.forget()
	}
}

// forget lets go of what the store holds outside itself. Goroutines that looked
// up metrics in it before Clear may be doing so still.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.more.Load(); x != nil {
		s.more.Store(&index{slots: noSlots[:], fresh: x.fresh})
	}
	s.cache = nil
}

// number returns the cell of the timer or counter of this name.
func (s *store) number(kind Kind, name string) *cell {
	var h uint64
	var d *descriptor
	x := s.more.Load()
	wide := x.wide()
	if wide { // most names are there
		h, d = identify(kind, name)
		if e := x.find(name, h); e != nil {
			return &e.cell
		}
	}
	want := distinction(kind, name)
	for i := range s.names {
		n := inlineName(s.names[i].Load())
		if n == 0 {
			return s.add(kind, name, want, i)
		}
		if n^want <= idMask && sameName(s.name(i, n), name) {
			return s.cell(i)
		}
	}
	if wide {
		return &s.appear(name, h, d).cell
	}
	return &s.indexed(kind, name).cell
}

// add adds a timer or counter to the inline ones, of which i have other names,
// if there is room and another goroutine does not add it first.
func (s *store) add(kind Kind, name string, want inlineName, i int) *cell {
	h, d := identify(kind, name)
	if d == nil {
		d = meet(name, h)
	}
	var fresh *[inlineMetrics]freshName
	if d != nil {
		want |= inlineName(d.id)
	} else {
		// The lock keeps the name at a place from being overwritten until
		// the list refers to it.
		s.mu.Lock()
		defer s.mu.Unlock()
		fresh = s.makeFresh()
	}
	for ; i < len(s.names); i++ {
		n := inlineName(s.names[i].Load())
		if n == 0 {
			if fresh != nil {
				fresh[i].name = name
			}
			if s.names[i].CompareAndSwap(0, uint32(want)) {
				return s.cell(i)
			}
			n = inlineName(s.names[i].Load())
		}
		if n^want <= idMask && s.name(i, n) == name {
			return s.cell(i)
		}
	}
	if fresh == nil {
		return &s.appear(name, h, d).cell
	}
	return &s.insert(name, h, d).cell // under the lock already
}

// makeFresh returns the fresh names. s.mu is held.
func (s *store) makeFresh() *[inlineMetrics]freshName {
	x := s.more.Load()
	switch {
	case x == nil:
		x = newFreshIndex()
		s.more.Store(x)
	case x.fresh == nil:
		x.fresh = new([inlineMetrics]freshName)
	}
	return x.fresh
}

// indexed returns the entry of the metric of this kind and name in the index.
func (s *store) indexed(kind Kind, name string) *entry {
	h, d := identify(kind, name)
	if x := s.more.Load(); x != nil {
		if e := x.find(name, h); e != nil {
			return e
		}
	}
	return s.appear(name, h, d)
}

// appear does so for a metric that was not in the index. The names of a
// collection that has very many are not remembered for others.
func (s *store) appear(name string, h uint64, d *descriptor) *entry {
	if d == nil && !s.more.Load().wide() {
		d = meet(name, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insert(name, h, d)
}

// insert inserts a metric into the index, if it is not there. s.mu is held.
func (s *store) insert(name string, h uint64, d *descriptor) *entry {
	x := s.more.Load()
	switch {
	case x == nil:
		x = newIndex()
		s.more.Store(x)
	default:
		if e := x.find(name, h); e != nil {
			return e
		}
		if x.full() {
			x = x.grown()
			s.more.Store(x)
		}
	}
	return x.insert(name, h, d)
}

// each calls f with every metric: the number of a timer or a counter, or a
// histogram. It returns when f returns false.
func (s *store) each(f func(*descriptor, *cell, *histogram) bool) {
	var spare descriptors
	for i := range s.names {
		n := inlineName(s.names[i].Load())
		if n == 0 {
			break
		}
		var d *descriptor
		if id := n & idMask; id != 0 {
			d = catalog[(id-1)%maxPlaces].descriptor.Load()
		} else {
			fresh := &s.more.Load().fresh[i]
			d = spare.of(n.kind(), fresh.name, &fresh.descriptor)
		}
		if !f(d, s.cell(i), nil) {
			return
		}
	}
	if x := s.more.Load(); x != nil {
		for i := range x.slots {
			if e := x.slots[i].entry.Load(); e != nil {
				if !f(spare.of(kindOf(x.slots[i].hash), e.name, &e.descriptor), &e.cell, e.histogram) {
					return
				}
			}
		}
	}
}

func (c *collection) All() map[string]any {
	s := c.store()
	n := 0
	s.each(func(*descriptor, *cell, *histogram) bool { n++; return true })
	all := make(map[string]any, n)
	if n == 0 {
		return all
	}
	box := newBoxes()
	defer box.release()
	s.each(func(d *descriptor, c *cell, h *histogram) bool {
		switch d.kind {
		case KindTimer:
			all[d.key] = box.int64((*timer)(c).Int64())
		case KindCounter:
			all[d.key] = box.uint64(uint64(c.value.Load()))
		default:
			s := h.summary()
			all[d.key] = s.toMap(&box)
		}
		return true
	})
	return all
}

func (c *collection) Timers() map[string]any {
	s := c.store()
	timers := 0
	s.each(func(d *descriptor, _ *cell, _ *histogram) bool {
		if d.kind == KindTimer {
			timers++
		}
		return true
	})
	all := make(map[string]any, timers)
	box := newBoxes()
	defer box.release()
	s.each(func(d *descriptor, c *cell, _ *histogram) bool {
		if d.kind == KindTimer {
			all[d.key] = box.int64((*timer)(c).Int64())
		}
		return true
	})
	return all
}

// String returns the metrics as key:value, sorted by key and separated by
// spaces. The values are as fmt writes those of All.
func (c *collection) String() string {
	w := writers.Get().(*writer)
	defer w.release()
	w.items = c.store().appendSorted(w.items[:0])
	text := w.json[:0]
	for i, m := range w.items {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, m.descriptor.key...), ':')
		switch m.descriptor.kind {
		case KindTimer:
			text = strconv.AppendInt(text, (*timer)(m.cell).Int64(), 10)
		case KindCounter:
			text = strconv.AppendUint(text, uint64(m.cell.value.Load()), 10)
		default:
			s := m.histogram.summary()
			text = s.appendTo(text, &summaryText)
		}
	}
	w.json = text
	return string(text)
}
