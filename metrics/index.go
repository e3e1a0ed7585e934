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
	// inline has the descriptors of the inline names that are uncatalogued,
	// by place. Each is written once, before the name is.
	inline *[inlineMetrics]*descriptor
}

// entry is a metric in an index.
type entry struct {
	hash       uint64 // of the descriptor; with the name, so that
	name       string // finding a metric reads little memory
	descriptor *descriptor
	histogram  *histogram // that this is the entry of, or nil
	cell
}

const (
	firstSlots   = 16
	firstEntries = 4
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

// find returns the entry of the metric with this name, of the kind that is in
// its hash.
func (x *index) find(name string, h uint64) *entry {
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		e := x.slots[i].Load()
		if e == nil {
			return nil
		}
		if e.hash == h && sameName(e.name, name) {
			return e
		}
	}
}

// full reports whether the table must grow before the next insertion. It is
// kept at most half full, so that find meets few other entries, and a nil.
func (x *index) full() bool { return 2*(x.used+1) > len(x.slots) }

// grown returns an index with the same entries and twice the slots.
func (x *index) grown() *index {
	g := &index{slots: make([]atomic.Pointer[entry], 2*len(x.slots)), free: x.free, inline: x.inline}
	for i := range x.slots {
		if e := x.slots[i].Load(); e != nil {
			g.place(e)
		}
	}
	return g
}

// insert adds a metric that is not in the index.
func (x *index) insert(d *descriptor) *entry {
	var e *entry
	if d.kind == KindHistogram {
		h := new(histogram)
		e = &h.entry
		e.histogram = h
	} else {
		if len(x.free) == 0 {
			x.free = make([]entry, min(max(x.used, firstEntries), maxEntries))
		}
		e = &x.free[0]
		x.free = x.free[1:]
	}
	e.hash, e.name, e.descriptor = d.hash, d.name, d
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
