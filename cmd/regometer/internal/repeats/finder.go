// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package repeats

import (
	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/internal/logread"
)

// A Finder finds the decisions that repeat others. Only one goroutine may use it
// at a time.
type Finder struct {
	set     *Set  // of all workers
	without int64 // decisions without an id
	// If repeats do not count, leftOut is their number, and missed estimates
	// those that count because the set had no room.
	leftOut int64
	missed  Occurrences

	waiting [keyShards][]key // to be put into the set
}

// New returns a finder of the repeats of all decisions in a set.
func New(of *Set) Finder { return Finder{set: of} }

// keysWaiting is the number of keys that a worker puts into a shard at once, so
// that it seldom needs the lock.
const keysWaiting = 32

// Add adds a decision. If unique is true, it returns true if this is a repeat,
// which then does not count.
func (x *Finder) Add(e *logread.Event, unique bool) bool {
	if len(e.DecisionID) == 0 {
		x.without++
		return false
	}
	id := max(hash.Of(0, e.DecisionID), 1)
	level := x.set.level.Load()
	if zerosOf(id) < level {
		return false
	}
	k := newKey(id, e)
	if unique {
		if x.set.isNew(k) {
			return false
		}
		x.leftOut++
		x.missed.add(1<<level-1, k.time(), k.time())
		return true
	}
	waiting := &x.waiting[shardOf(id)]
	if *waiting = append(*waiting, k); len(*waiting) == keysWaiting {
		x.set.put(*waiting...)
		*waiting = (*waiting)[:0]
	}
	return false
}

// Flush puts the keys that wait into the set. No keys may wait when x is merged,
// described or saved.
func (x *Finder) Flush() {
	for i, keys := range x.waiting {
		x.set.put(keys...)
		x.waiting[i] = nil
	}
}

// Merge adds the decisions of o.
func (x *Finder) Merge(o *Finder) {
	x.without += o.without
	x.leftOut += o.leftOut
	x.missed.add(o.missed.N, o.missed.First, o.missed.Last)
	if x.set != o.set {
		x.set.raise(o.set.level.Load())
		x.set.repeats.merge(&o.set.repeats)
		for i := range o.set.shards {
			x.set.put(o.set.shards[i].keys...)
		}
	}
}

// Counts describes decisions that have the same ids.
type Counts struct {
	// Count is the number of decisions that repeat another one: its id, time
	// and path. They count too often.
	Count int64 `json:"count"`
	// LeftOut is the number of repeats that do not count.
	LeftOut int64 `json:"left_out"`
	// Reused is the number of decisions with the id of another one, but another
	// time or path.
	Reused int64 `json:"reused_ids"`
	// Sample is the number of decisions from which Count and Reused are
	// estimated, or 0 if they are exact.
	Sample int64 `json:"sample"`
	// WithoutID is the number of decisions without an id. They may be repeats.
	WithoutID int64 `json:"without_id"`

	// FoundRepeats and FoundReused are those that were found, with their times.
	FoundRepeats Occurrences `json:"-"`
	FoundReused  Occurrences `json:"-"`
	// Missed is the part of Count that should have been left out.
	Missed int64 `json:"-"`
}

// Describe returns the repeats among this number of decisions.
func (x *Finder) Describe(decisions int64) Counts {
	r := Counts{LeftOut: x.leftOut, WithoutID: x.without}
	keys := x.set.raise(0)
	level := x.set.level.Load()
	for _, o := range x.set.repeats[level:] {
		r.FoundRepeats.add(o.N, o.First, o.Last)
	}
	for i := range x.set.shards {
		o := &x.set.shards[i].reused
		r.FoundReused.add(o.N, o.First, o.Last)
	}
	r.Count, r.Reused = r.FoundRepeats.N, r.FoundReused.N
	if level > 0 {
		sample := max(keys+r.Count, 1)
		r.Sample = sample
		part := float64(decisions-x.without) / float64(sample)
		r.Count, r.Reused = int64(part*float64(r.Count)), int64(part*float64(r.Reused))
	}
	r.Missed = x.missed.N
	r.Count += r.Missed
	r.FoundRepeats.add(x.missed.N, x.missed.First, x.missed.Last)
	return r
}
