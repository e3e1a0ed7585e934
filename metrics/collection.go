// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"sync/atomic"
)

// collection is the implementation behind [New], in one allocation.
type collection struct {
	// cleared is the store that replaced the first one at the last Clear, or
	// nil.
	cleared atomic.Pointer[store]
	first   store
}

// store holds the metrics of a collection between two calls of Clear.
//
// The first timers and counters are inline, in a list of names and a separate
// list of numbers. So a look-up reads memory that other goroutines do not write
// when they add to a number. One compare-and-swap of a zero name adds a metric.
// Names are never removed, so the list ends at the first zero. A name is not a
// pointer, so the compare-and-swap needs no write barrier. Histograms, and
// metrics that do not fit, go to the index.
//
// In a collection, all fields above the cells share one cache line of 64 bytes.
type store struct {
	more  atomic.Pointer[index]
	mu    sync.Mutex                   // guards insertion into more, and cache
	cache *jsonCache                   // see json.go
	names [inlineMetrics]atomic.Uint32 // see inlineName
	cells [inlineMetrics]cell          // see store.cell
}

// cell returns the cell of the name at place i. The cells of neighbouring names
// are in different cache lines, so that goroutines that write them seldom wait
// for each other.
func (s *store) cell(i int) *cell {
	return &s.cells[(i%2*(inlineMetrics/2)+i/2)%inlineMetrics]
}

// inlineName is a name in a store. Its lower bits hold the id in the catalog,
// or 0 if the name is in the fresh list of the index. The bits above hold the
// kind, which is never 0, the length, and bits of the last two bytes. The upper
// bits of different names usually differ, so that most comparisons end there.
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

// name returns the name at place i, where the list has n.
func (s *store) name(i int, n inlineName) string {
	if id := n & idMask; id != 0 {
		return catalog[(id-1)%maxPlaces].descriptor.Load().name
	}
	return s.more.Load().fresh[i].name
}

// New returns a new, empty [Metrics]. It makes one allocation.
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
	// Allocate a whole collection for the store, because the position of a
	// store in a collection aligns it with the cache lines.
	if c.cleared.Swap(&new(collection).first) != nil {
		return
	}
	// The first store stays in memory. Goroutines that began a look-up before
	// Clear may still read it, so only the memory outside it is dropped.
	s := &c.first
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
	if wide { // the index has most names
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
		return &s.insertSlow(name, h, d).cell
	}
	return &s.indexed(kind, name).cell
}

// add adds a timer or counter to the inline metrics and returns its cell. The
// first i inline metrics have other names. If there is no room, add puts the
// metric into the index. If another goroutine adds the metric first, add
// returns that cell.
func (s *store) add(kind Kind, name string, want inlineName, i int) *cell {
	h, d := identify(kind, name)
	if d == nil {
		d = noteSeen(name, h)
	}
	var fresh *[inlineMetrics]freshName
	if d != nil {
		want |= inlineName(d.id)
	} else {
		// Under the lock, no other goroutine overwrites the fresh name before
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
		return &s.insertSlow(name, h, d).cell
	}
	return &s.insert(name, h, d).cell // this goroutine has the lock already
}

// makeFresh returns the list of fresh names, and makes it if necessary. The
// caller holds s.mu.
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

// indexed returns the metric's entry in the index. It inserts the metric if the
// index lacks it.
func (s *store) indexed(kind Kind, name string) *entry {
	h, d := identify(kind, name)
	if x := s.more.Load(); x != nil {
		if e := x.find(name, h); e != nil {
			return e
		}
	}
	return s.insertSlow(name, h, d)
}

// insertSlow takes the lock and inserts a metric into the index, unless another
// goroutine did so first. It notes the name for the catalog, except in a
// collection with very many names.
func (s *store) insertSlow(name string, h uint64, d *descriptor) *entry {
	if d == nil && !s.more.Load().wide() {
		d = noteSeen(name, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insert(name, h, d)
}

// insert returns the metric's entry in the index. It inserts the metric if the
// index lacks it. The caller holds s.mu.
func (s *store) insert(name string, h uint64, d *descriptor) *entry {
	x := s.more.Load()
	if x == nil {
		x = newIndex()
		s.more.Store(x)
	}
	if e := x.find(name, h); e != nil {
		return e
	}
	if x.full() {
		x = x.grown()
		s.more.Store(x)
	}
	return x.insert(name, h, d)
}

// each calls f with every metric, until f returns false. f gets the cell of a
// timer or counter, or the histogram. Without a histogram, its last argument is
// nil.
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
			d = spare.load(n.kind(), fresh.name, &fresh.descriptor)
		}
		if !f(d, s.cell(i), nil) {
			return
		}
	}
	if x := s.more.Load(); x != nil {
		for i := range x.slots {
			if e := x.slots[i].entry.Load(); e != nil {
				if !f(spare.load(kindOf(x.slots[i].hash), e.name, &e.descriptor), &e.cell, e.histogram) {
					return
				}
			}
		}
	}
}

// descriptors makes the missing descriptors of metrics that are read.
type descriptors struct {
	free []descriptor
	next int // the number of descriptors in the last allocation
}

// load returns the descriptor in at. If there is none, load makes the
// descriptor and stores it there.
func (s *descriptors) load(kind Kind, name string, at *atomic.Pointer[descriptor]) *descriptor {
	d := at.Load()
	if d == nil {
		if len(s.free) == 0 {
			s.next = min(max(2*s.next, 4), maxEntries)
			s.free = make([]descriptor, s.next)
		}
		d = &s.free[0]
		s.free = s.free[1:]
		d.format(kind, name)
		at.Store(d) // another reader may store an equal descriptor
	}
	return d
}

func (c *collection) All() map[string]any { return c.store().values(false) }

func (c *collection) Timers() map[string]any { return c.store().values(true) }

// values returns the metrics, or only the timers, in the form of
// [Metrics.All].
func (s *store) values(onlyTimers bool) map[string]any {
	n := 0
	s.each(func(d *descriptor, _ *cell, _ *histogram) bool {
		if d.kind == KindTimer || !onlyTimers {
			n++
		}
		return true
	})
	all := make(map[string]any, n)
	if n == 0 {
		return all
	}
	box := newBoxes()
	defer box.release()
	s.each(func(d *descriptor, c *cell, h *histogram) bool {
		switch {
		case d.kind == KindTimer:
			all[d.key] = box.int64((*timer)(c).Int64())
		case onlyTimers:
		case d.kind == KindCounter:
			all[d.key] = box.uint64(uint64(c.value.Load()))
		default:
			s, _ := h.summary()
			all[d.key] = s.toMap(&box)
		}
		return true
	})
	return all
}
