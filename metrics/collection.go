// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"sort"
	"strings"
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
// The first metrics are inline: a list of names, with the numbers in a list
// beside it, so that looking a name up reads memory that is not written while
// another goroutine adds to a number. A metric is appended by one CAS of a nil
// name; names are never removed, so the list ends at the first nil. What does
// not fit goes to the index.
type store struct {
	names [inlineMetrics]atomic.Pointer[descriptor]
	cells [inlineMetrics]cell
	more  atomic.Pointer[index]
	mu    sync.Mutex // guards insertion into more, and *text
	text  *text      // see json.go
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

func (c *collection) Clear() { c.cleared.Store(new(store)) }

// number returns the cell of the timer or counter of this name.
func (s *store) number(kind Kind, name string) *cell {
	for i := range s.names {
		d := s.names[i].Load()
		if d == nil {
			break
		}
		if sameName(d.name, name) && d.kind == kind {
			return &s.cells[i]
		}
	}
	return s.numberSlow(kind, name)
}

func (s *store) numberSlow(kind Kind, name string) *cell {
	if s.names[inlineMetrics-1].Load() == nil {
		d := describe(kind, name, hashName(kind, name))
		for i := range s.names {
			if s.names[i].CompareAndSwap(nil, d) {
				return &s.cells[i]
			}
			if other := s.names[i].Load(); other.kind == kind && other.name == name {
				return &s.cells[i]
			}
		}
	}
	return &s.indexed(kind, name).cell
}

// indexed returns the entry of the metric of this kind and name in the index.
func (s *store) indexed(kind Kind, name string) *entry {
	h := hashName(kind, name)
	if x := s.more.Load(); x != nil {
		if e := x.find(kind, name, h); e != nil {
			return e
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.more.Load()
	if x == nil {
		x = newIndex()
		s.more.Store(x)
	} else if e := x.find(kind, name, h); e != nil {
		return e
	}
	if x.full() {
		x = x.grown()
		s.more.Store(x)
	}
	return x.insert(describe(kind, name, h))
}

// each calls f with every metric: the number of a timer or a counter, or a
// histogram. It returns when f returns false.
func (s *store) each(f func(*descriptor, *cell, *histogram) bool) {
	for i := range s.names {
		d := s.names[i].Load()
		if d == nil {
			break
		}
		if !f(d, &s.cells[i], nil) {
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
	var metrics, numbers int
	s.each(func(_ *descriptor, _ *cell, h *histogram) bool {
		metrics++
		numbers++
		if h != nil {
			numbers += summaryFields - 1
		}
		return true
	})
	all := make(map[string]any, metrics)
	if metrics == 0 {
		return all
	}
	box := newBoxes(numbers)
	s.each(func(d *descriptor, c *cell, h *histogram) bool {
		switch d.kind {
		case KindTimer:
			all[d.key] = box.int64(c.value.Load())
		case KindCounter:
			all[d.key] = box.uint64(uint64(c.value.Load()))
		default:
			all[d.key] = h.summary().toMap(&box)
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
	box := newBoxes(timers)
	s.each(func(d *descriptor, c *cell, _ *histogram) bool {
		if d.kind == KindTimer {
			all[d.key] = box.int64(c.value.Load())
		}
		return true
	})
	return all
}

// String returns the metrics as key:value, sorted by key and separated by
// spaces.
func (c *collection) String() string {
	all := c.All()
	keys := make([]string, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s:%v", key, all[key])
	}
	return b.String()
}
