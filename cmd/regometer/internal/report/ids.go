// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/regometer/regometer/internal/logread"
)

// decisionIDs finds the decisions that repeat others.
type decisionIDs struct {
	set     *keySet // of all workers
	without int64   // decisions without an id
	// With Options.Unique, leftOut is the number of repeats that do not count,
	// and missed estimates those that count because the set had no room.
	leftOut int64
	missed  occurrences

	waiting [keyShards][]decisionKey // to be put into the set
}

// keysWaiting is the number of keys that a worker puts into a shard at once, so
// that it seldom needs the lock.
const keysWaiting = 32

// add adds a decision. If unique is true, it returns true if this is a repeat.
func (x *decisionIDs) add(e *logread.Event, unique bool) bool {
	if len(e.DecisionID) == 0 {
		x.without++
		return false
	}
	id := max(Hash(0, e.DecisionID), 1)
	level := x.set.level.Load()
	if zerosOf(id) < level {
		return false
	}
	k := newDecisionKey(id, e)
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

// flush puts the keys that wait into the set.
func (x *decisionIDs) flush() {
	for i, keys := range x.waiting {
		x.set.put(keys...)
		x.waiting[i] = nil
	}
}

// merge adds the decisions of o.
func (x *decisionIDs) merge(o *decisionIDs) {
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

// Repeats describes decisions that have the same ids.
type Repeats struct {
	// Count is the number of decisions that repeat another one: its id, time
	// and path. They count too often.
	Count int64 `json:"count"`
	// LeftOut is the number of repeats that do not count: see Options.Unique.
	LeftOut int64 `json:"left_out"`
	// Reused is the number of decisions with the id of another one, but another
	// time or path.
	Reused int64 `json:"reused_ids"`
	// Sample is the number of decisions from which Count and Reused are
	// estimated, or 0 if they are exact.
	Sample int64 `json:"sample"`
	// WithoutID is the number of decisions without an id. They may be repeats.
	WithoutID int64 `json:"without_id"`

	repeats, reused occurrences // those that were found, with their times
	missed          int64       // part of Count: see decisionIDs
}

// describe returns the repeats in a report that has this number of decisions.
func (x *decisionIDs) describe(decisions int64) Repeats {
	r := Repeats{LeftOut: x.leftOut, WithoutID: x.without}
	keys := x.set.raise(0)
	level := x.set.level.Load()
	for _, o := range x.set.repeats[level:] {
		r.repeats.add(o.N, o.First, o.Last)
	}
	for i := range x.set.shards {
		o := &x.set.shards[i].reused
		r.reused.add(o.N, o.First, o.Last)
	}
	r.Count, r.Reused = r.repeats.N, r.reused.N
	if level > 0 {
		sample := max(keys+r.Count, 1)
		r.Sample = sample
		part := float64(decisions-x.without) / float64(sample)
		r.Count, r.Reused = int64(part*float64(r.Count)), int64(part*float64(r.Reused))
	}
	r.missed = x.missed.N
	r.Count += r.missed
	r.repeats.add(x.missed.N, x.missed.First, x.missed.Last)
	return r
}
