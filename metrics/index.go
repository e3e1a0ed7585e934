// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "sync/atomic"

// index holds the metrics of a store that are not inline, in a hash table with
// open addressing. Reading it takes no lock; inserting is done under the lock
// of the store. A table that is full is replaced by a larger one with the same
// entries: who still reads the old one may miss an entry, and looks again
// under the lock before inserting.
type index struct {
	slots []atomic.Pointer[entry] // a power of two
	used  int                     // guarded by store.mu
	free  []entry                 // the next entries; guarded by store.mu
}

// entry is a metric in an index.
type entry struct {
	*descriptor
	cell
	histogram *histogram // of a histogram
}

const (
	firstSlots   = 16
	firstEntries = 8
	maxEntries   = 64 // allocated at a time
)

// newIndex returns an index with its first entries, in one allocation.
func newIndex() *index {
	first := new(struct {
		index
		slots   [firstSlots]atomic.Pointer[entry]
		entries [firstEntries]entry
	})
	first.index.slots = first.slots[:]
	first.index.free = first.entries[:]
	return &first.index
}

func (x *index) find(kind Kind, name string, h uint64) *entry {
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := x.slots[i].Load()
		if e == nil {
			return nil
		}
		if e.hash == h && e.kind == kind && sameName(e.name, name) {
			return e
		}
	}
}

// full reports whether the table must grow before the next insertion. It is
// kept at most three quarters full, so that find always meets a nil.
func (x *index) full() bool { return 4*(x.used+1) > 3*len(x.slots) }

// grown returns an index with the same entries and twice the slots.
func (x *index) grown() *index {
	g := &index{slots: make([]atomic.Pointer[entry], 2*len(x.slots)), free: x.free}
	for i := range x.slots {
		if e := x.slots[i].Load(); e != nil {
			g.place(e)
		}
	}
	return g
}

// insert adds a metric that is not in the index.
func (x *index) insert(d *descriptor) *entry {
	if len(x.free) == 0 {
		x.free = make([]entry, min(x.used, maxEntries))
	}
	e := &x.free[0]
	x.free = x.free[1:]
	e.descriptor = d
	if d.kind == KindHistogram {
		e.histogram = new(histogram)
	}
	x.place(e)
	return e
}

func (x *index) place(e *entry) {
	mask := uint64(len(x.slots) - 1)
	i := e.hash & mask
	for x.slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	x.slots[i].Store(e)
	x.used++
}
