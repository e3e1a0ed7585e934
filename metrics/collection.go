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
// written while another goroutine adds to a number. A metric is appended by one
// CAS of a zero name; names are never removed, so the list ends at the first
// zero. They are no pointers, which spares the CAS a write barrier. What does
// not fit, and the histograms, go to the index.
//
// In a collection, everything above the cells is in one cache line of 64 bytes.
type store struct {
	more  atomic.Pointer[index]
	mu    sync.Mutex                   // guards insertion into more, and text
	text  *text                        // see json.go
	names [inlineMetrics]atomic.Uint32 // see inlineName
	cells [inlineMetrics]cell
}

// inlineName is a name in a store: in its lower bits the id in the catalog, or
// uncatalogued if the index has the descriptor; above them the kind, which is
// never 0, and the length and the last byte of the name, by which most others
// are told apart at once.
type inlineName uint32

const (
	idBits       = catalogBits + 1
	uncatalogued = 1<<idBits - 1
)

// distinction returns the upper part of an inlineName.
func distinction(kind Kind, name string) inlineName {
	d := inlineName(kind) << 17
	if n := len(name); n > 0 {
		d |= inlineName(n&0x1ff)<<8 | inlineName(name[n-1])
	}
	return d << idBits
}

// descriptor returns the descriptor of the name n at place i.
func (s *store) descriptor(i int, n inlineName) *descriptor {
	if n%(1<<idBits) == uncatalogued {
		return s.more.Load().inline[i]
	}
	return catalog[(n-1)%(1<<catalogBits)].Load()
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
	old := c.cleared.Swap(new(store))
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
		empty := newIndex()
		empty.inline = x.inline
		s.more.Store(empty)
	}
	s.text = nil
}

// number returns the cell of the timer or counter of this name.
func (s *store) number(kind Kind, name string) *cell {
	want := distinction(kind, name)
	for i := range s.names {
		n := inlineName(s.names[i].Load())
		if n&^(1<<idBits-1) == want {
			known := s.descriptor(i, n).name
			if sameTiny(known, name) || sameName(known, name) {
				return &s.cells[i]
			}
		}
		if n == 0 {
			return s.append(kind, name, want, i)
		}
	}
	return &s.indexed(kind, name).cell
}

// append appends a timer or counter to the inline ones, of which i have other
// names, if there is room and another goroutine does not append it first.
func (s *store) append(kind Kind, name string, want inlineName, i int) *cell {
	d := describe(kind, name)
	id := inlineName(d.id)
	if id == 0 {
		// The lock keeps the descriptor at a place from being overwritten
		// until a name refers to it.
		s.mu.Lock()
		defer s.mu.Unlock()
		if x := s.makeIndex(); x.inline == nil {
			x.inline = new([inlineMetrics]*descriptor)
		}
		id = uncatalogued
	}
	for ; i < len(s.names); i++ {
		if id == uncatalogued && s.names[i].Load() == 0 {
			s.more.Load().inline[i] = d
		}
		if s.names[i].CompareAndSwap(0, uint32(want|id)) {
			return &s.cells[i]
		}
		n := inlineName(s.names[i].Load())
		if n>>idBits == want>>idBits && s.descriptor(i, n).name == name {
			return &s.cells[i]
		}
	}
	if id == uncatalogued {
		return &s.insert(d).cell
	}
	return &s.indexed(kind, name).cell
}

// indexed returns the entry of the metric of this kind and name in the index.
func (s *store) indexed(kind Kind, name string) *entry {
	var h uint64
	d := wellKnown(kind, name)
	if d != nil {
		h = d.hash
	} else {
		h = hashName(kind, name)
	}
	if x := s.more.Load(); x != nil {
		if e := x.find(name, h); e != nil {
			return e
		}
	}
	if d == nil {
		d = describeHashed(kind, name, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insert(d)
}

// insert inserts a metric into the index, if it is not there. s.mu is held.
func (s *store) insert(d *descriptor) *entry {
	x := s.makeIndex()
	if e := x.find(d.name, d.hash); e != nil {
		return e
	}
	if x.full() {
		x = x.grown()
		s.more.Store(x)
	}
	return x.insert(d)
}

// makeIndex returns the index, which it makes if there is none. s.mu is held.
func (s *store) makeIndex() *index {
	x := s.more.Load()
	if x == nil {
		x = newIndex()
		s.more.Store(x)
	}
	return x
}

// each calls f with every metric: the number of a timer or a counter, or a
// histogram. It returns when f returns false.
func (s *store) each(f func(*descriptor, *cell, *histogram) bool) {
	for i := range s.names {
		n := inlineName(s.names[i].Load())
		if n == 0 {
			break
		}
		if !f(s.descriptor(i, n), &s.cells[i], nil) {
			return
		}
	}
	if x := s.more.Load(); x != nil {
		for i := range x.slots {
			if e := x.slots[i].Load(); e != nil && !f(e.descriptor, &e.cell, e.histogram) {
				return
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
			text = s.append(text, &summaryText)
		}
	}
	w.json = text
	return string(text)
}
