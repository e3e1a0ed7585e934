// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/regometer/regometer/internal/logread"
)

// A decisionKey tells decisions apart: those that are the same have the same
// id, time and path.
type decisionKey struct {
	// id is a hash of the id, and not 0. If a million decisions have different
	// ids, two of the hashes are the same with a probability of 1 to 37 million.
	id uint64
	// rest has the time in whole seconds, plus zeroSecond, or 0 without a time.
	// Its last checkBits bits are a hash of the time and the path.
	rest uint64
}

const (
	checkBits   = 29
	zeroSecond  = 1 << 34
	mostSeconds = 9223372036 // of a time, from 1970 on and before it
)

func newDecisionKey(id uint64, e *logread.Event) decisionKey {
	seconds := uint64(0)
	if e.Time != logread.NoTime {
		seconds = uint64(e.Time/1e9 + zeroSecond)
	}
	return decisionKey{id, seconds<<checkBits | Hash(uint64(e.Time), e.Path)>>(64-checkBits)}
}

// time returns the time, in whole seconds.
func (k decisionKey) time() int64 {
	if seconds := int64(k.rest >> checkBits); seconds != 0 {
		return (seconds - zeroSecond) * 1e9
	}
	return logread.NoTime
}

// Hash returns a hash like wyhash (https://github.com/wangyi-fudan/wyhash).
func Hash(h uint64, text []byte) uint64 {
	const a, b, c = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3
	h ^= a * uint64(len(text)+1)
	var first, last uint64
	if n := len(text); n >= 16 {
		first, last = binary.LittleEndian.Uint64(text[n-16:]), binary.LittleEndian.Uint64(text[n-8:])
		for ; len(text) > 16; text = text[16:] {
			h = mix(binary.LittleEndian.Uint64(text)^b, binary.LittleEndian.Uint64(text[8:])^h)
		}
	} else if n >= 8 {
		first, last = binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
	} else {
		for _, letter := range text {
			first = first<<8 | uint64(letter)
		}
	}
	return mix(mix(first^b, last^h), c)
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func compareKeys(a, b decisionKey) int {
	if a.id != b.id {
		return cmp.Compare(a.id, b.id)
	}
	return cmp.Compare(a.rest, b.rest)
}

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
