// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "sync/atomic"

// inlineMetrics limits the timers and counters that a store holds without
// another allocation. A decision of OPA's server records up to seven.
const inlineMetrics = 8

// index holds the metrics of a store that are not inline, in a hash table with
// open addressing. A reader takes no lock. A writer holds the lock of the
// store. It replaces a full table by a larger one with the same entries. A
// goroutine that still reads the old table may miss an entry, so it looks again
// under the lock before it inserts one.
type index struct {
	slots []slot  // a power of two
	used  int     // guarded by store.mu
	free  []entry // the next entries; guarded by store.mu
	// fresh has the inline names that are not in the catalog, by place. A name
	// does not change once store.names refers to its place.
	fresh *[inlineMetrics]freshName
}

// slot is a place in the table of an index. The hash is here and not in the
// entry, so that a search does not read the entries of other names. Each such
// read would probably be a cache miss. The writer stores the hash before the
// entry, and a reader reads the hash only if there is an entry.
type slot struct {
	entry atomic.Pointer[entry]
	hash  uint64
}

// entry is a metric in an index.
type entry struct {
	name string // the caller's string, as in the key of a map
	cell
	descriptor atomic.Pointer[descriptor] // nil until the name is in the catalog or the metric is read
	histogram  *histogram                 // the histogram with this entry, or nil
}

// freshName is an inline name that is not in the catalog.
type freshName struct {
	name       string
	descriptor atomic.Pointer[descriptor] // nil until the metric is read
}

const (
	firstSlots   = 16             // the slots of a new index
	wideSlots    = 8 * firstSlots // an index with this many slots or more is wide
	firstEntries = 4              // the entries of a new index
	// maxEntries limits the entries in one allocation, because a single handle
	// keeps the whole allocation alive.
	maxEntries = 32
)

// noSlots is the table of an index that holds fresh names only.
var noSlots [1]slot

// newIndex returns an index with its first entries, in one allocation.
func newIndex() *index {
	first := new(struct {
		index
		slots   [firstSlots]slot
		entries [firstEntries]entry
	})
	first.index.slots = first.slots[:]
	first.index.free = first.entries[:]
	return &first.index
}

// newFreshIndex returns an index with room for fresh names only, in one
// allocation.
func newFreshIndex() *index {
	first := new(struct {
		index
		fresh [inlineMetrics]freshName
	})
	first.index.slots = noSlots[:]
	first.index.fresh = &first.fresh
	return &first.index
}

// find returns the entry of the metric with this name and hash, or nil.
func (x *index) find(name string, h uint64) *entry {
	slots := x.slots
	for i := h >> kindBits; ; i++ {
		s := &slots[i&uint64(len(slots)-1)]
		e := s.entry.Load()
		if e == nil {
			return nil
		}
		if s.hash == h && sameName(e.name, name) {
			return e
		}
	}
}

// full reports whether the table must grow before the next insertion. At most
// three quarters of the slots are used, so that find ends soon.
func (x *index) full() bool { return 4*(x.used+1) > 3*len(x.slots) }

// wide reports whether the index probably has most of the names.
func (x *index) wide() bool { return x != nil && len(x.slots) >= wideSlots }

// grown returns an index with the same entries and twice as many slots.
func (x *index) grown() *index {
	g := &index{slots: make([]slot, max(2*len(x.slots), firstSlots)), free: x.free, fresh: x.fresh}
	for i := range x.slots {
		if e := x.slots[i].entry.Load(); e != nil {
			g.place(e, x.slots[i].hash)
		}
	}
	return g
}

// insert adds a metric that the index lacks, and returns its entry. d may be
// nil.
func (x *index) insert(name string, h uint64, d *descriptor) *entry {
	var e *entry
	if kindOf(h) == KindHistogram {
		h := new(struct { // in one allocation
			entry
			histogram
		})
		e = &h.entry
		e.histogram = &h.histogram
	} else {
		if len(x.free) == 0 {
			x.free = make([]entry, min(max(x.used, firstEntries), maxEntries))
		}
		e = &x.free[0]
		x.free = x.free[1:]
	}
	if d != nil {
		e.descriptor.Store(d)
	}
	e.name = name
	x.place(e, h)
	return e
}

func (x *index) place(e *entry, h uint64) {
	mask := uint64(len(x.slots) - 1)
	i := h >> kindBits
	for x.slots[i&mask].entry.Load() != nil {
		i++
	}
	s := &x.slots[i&mask]
	s.hash = h
	s.entry.Store(e)
	x.used++
}
