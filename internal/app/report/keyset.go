// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/regometer/regometer/internal/logread"
)

// A keySet has the keys of the decisions of all workers. If there are more than
// maxKeys, it has a sample of the ids: those whose hashes end in as many zero
// bits as its level. The level is as low as maxKeys allows. This is Wegman's
// adaptive sampling (P. Flajolet, "On adaptive sampling", Computing 43, 1990,
// https://doi.org/10.1007/BF02241657). The decisions alone determine the level,
// so the set depends neither on their order nor on the workers.
type keySet struct {
	level  atomic.Int32 // changes only while all shards are locked
	shards [keyShards]keyShard
}

// maxKeys limits the keys of a set, which takes 24 MiB. A test lowers it.
var maxKeys = 1 << 20

const keyShards = 64

// A keyShard has the keys whose hash of the id begins with its number. Looking
// a key up waits for memory, so keys are appended, and repeats are found when
// the shard is sorted. A shard has half as much room again as it needs, so that
// this is seldom.
type keyShard struct {
	mu     sync.Mutex
	keys   []decisionKey
	level  int32       // none of the sorted keys is below it
	sorted int         // these keys are sorted, and differ
	reused occurrences // of these, those that have the id of another one

	// seen has the keys instead if repeats must be known at once.
	seen map[decisionKey]bool
}

func roomOfShard() int { return max(maxKeys*3/2/keyShards, 16) }

func shardOf(id uint64) uint64 { return id / (1 << 64 / keyShards) }

func zerosOf(id uint64) int32 { return int32(bits.TrailingZeros64(id)) }

// put adds keys of one shard, and the repeats that it finds to r.
func (s *keySet) put(keys []decisionKey, r *repeats) {
	if len(keys) == 0 {
		return
	}
	shard := &s.shards[shardOf(keys[0].id)]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if len(shard.keys)+len(keys) > cap(shard.keys) && len(shard.keys) > 0 {
		room := roomOfShard()
		if shard.sort(s.level.Load(), r) > room/4*3 {
			shard.mu.Unlock()
			s.raise(0, r)
			shard.mu.Lock()
		}
		if cap(shard.keys) < room { // the system gives memory when it is first used
			shard.keys = append(make([]decisionKey, 0, room), shard.keys...)
		}
	}
	shard.keys = append(shard.keys, keys...)
}

// isNew adds a key at once. It returns false if the set has it already.
func (s *keySet) isNew(k decisionKey) bool {
	shard := &s.shards[shardOf(k.id)]
	shard.mu.Lock()
	before := len(shard.seen)
	if shard.seen == nil {
		shard.seen = map[decisionKey]bool{}
	}
	shard.seen[k] = true
	n := len(shard.seen)
	shard.mu.Unlock()
	if n > before && n == roomOfShard()/4*3 {
		s.raise(0, nil)
	}
	return n > before
}

// sortShards sorts the share that a worker has of the shards, after all keys
// have been put.
func (s *keySet) sortShards(worker, workers int, r *repeats) {
	for i := worker; i < keyShards; i += workers {
		shard := &s.shards[i]
		if shard.seen != nil {
			shard.keys, shard.seen = slices.Collect(maps.Keys(shard.seen)), nil
		}
		shard.sort(s.level.Load(), r)
	}
}

// raise raises the level to this level, and further until the set has room. It
// sorts all shards.
func (s *keySet) raise(level int32, r *repeats) (keys int) {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		defer s.shards[i].mu.Unlock()
	}
	for level = max(level, s.level.Load()); ; level++ {
		keys = 0
		for i := range s.shards {
			keys += s.shards[i].sort(level, r)
		}
		if s.level.Store(level); keys <= maxKeys {
			return keys
		}
	}
}

// sort sorts the shard, and leaves out repeats and keys below a level. It
// returns the number of keys.
func (s *keyShard) sort(level int32, r *repeats) int {
	if s.seen != nil {
		maps.DeleteFunc(s.seen, func(k decisionKey, _ bool) bool { return zerosOf(k.id) < level })
		return len(s.seen)
	}
	if s.sorted == len(s.keys) && s.level == level {
		return s.sorted
	}
	sortKeys(s.keys)
	s.level, s.sorted, s.reused = level, 0, occurrences{}
	var before decisionKey
	for _, k := range s.keys {
		switch zeros := zerosOf(k.id); {
		case zeros < level:
			continue
		case k == before:
			r[zeros].add(1, k.time(), k.time())
			continue
		case k.id == before.id:
			s.reused.add(1, before.time(), k.time())
		}
		s.keys[s.sorted], before = k, k
		s.sorted++
	}
	s.keys = s.keys[:s.sorted]
	return s.sorted
}

// sortKeys sorts the keys of a shard. The hashes of ids are random, so a table
// of their first bits takes most keys to their places.
func sortKeys(keys []decisionKey) {
	const tableBits = 13
	if len(keys) < 1<<tableBits/8 {
		slices.SortFunc(keys, compareKeys)
		return
	}
	entry := func(k decisionKey) uint64 { return k.id * keyShards >> (64 - tableBits) }
	var from, to [1 << tableBits]int32
	for _, k := range keys {
		to[entry(k)]++
	}
	sum := int32(0)
	for i, n := range to {
		from[i] = sum
		sum += n
		to[i] = sum
	}
	begin := int32(0)
	for i := range to {
		// Exchange keys until those of this entry are in their place.
		for from[i] < to[i] {
			k := keys[from[i]]
			for e := entry(k); e != uint64(i); e = entry(k) {
				keys[from[e]], k = k, keys[from[e]]
				from[e]++
			}
			keys[from[i]] = k
			from[i]++
		}
		slices.SortFunc(keys[begin:to[i]], compareKeys)
		begin = to[i]
	}
}

// repeats are decisions that repeat another one, by the zero bits at the end of
// the id's hash.
type repeats [64]occurrences

// occurrences are some decisions.
type occurrences struct {
	n           int64
	first, last int64 // times, or logread.NoTime, if n is not 0
}

// add adds n decisions and two of their times.
func (o *occurrences) add(n, first, last int64) {
	if n > 0 && o.n == 0 {
		o.first, o.last = logread.NoTime, logread.NoTime
	}
	if o.n += n; n > 0 {
		widen(&o.first, &o.last, first)
		widen(&o.first, &o.last, last)
	}
}
