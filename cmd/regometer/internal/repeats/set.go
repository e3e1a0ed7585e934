// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package repeats finds decisions that repeat others.
package repeats

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/internal/logread"
)

// A key tells decisions apart: those that are the same have the same id, time and
// path.
type key struct {
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

func newKey(id uint64, e *logread.Event) key {
	seconds := uint64(0)
	if e.Time != logread.NoTime {
		seconds = uint64(e.Time/1e9 + zeroSecond)
	}
	return key{id, seconds<<checkBits | hash.Of(uint64(e.Time), e.Path)>>(64-checkBits)}
}

// time returns the time, in whole seconds.
func (k key) time() int64 {
	if seconds := int64(k.rest >> checkBits); seconds != 0 {
		return (seconds - zeroSecond) * 1e9
	}
	return logread.NoTime
}

func compareKeys(a, b key) int {
	if a.id != b.id {
		return cmp.Compare(a.id, b.id)
	}
	return cmp.Compare(a.rest, b.rest)
}

// A Set has the keys of decisions. Several goroutines may use it. If there are
// more than MaxKeys, it has those of a sample of the ids, whose hashes end in as
// many zero bits as its level. The level is as low as MaxKeys allows. This is
// Wegman's adaptive sampling (P. Flajolet, "On adaptive sampling", Computing 43,
// 1990, https://doi.org/10.1007/BF02241657). The decisions alone determine the
// level, so the set depends neither on their order nor on the goroutines.
type Set struct {
	level  atomic.Int32 // changes only while all shards are locked
	shards [keyShards]keyShard

	mu sync.Mutex
	// repeats are the keys that were there already, by the zero bits at the end
	// of the id's hash. Those below the level are not all.
	repeats byLevel
}

// MaxKeys limits the keys of a set, which takes 24 MiB. A test lowers it.
var MaxKeys = 1 << 20

const keyShards = 64

// A keyShard has the keys whose hash of the id begins with its number. Looking
// a key up waits for memory, so keys are appended, and repeats are found when
// the shard is sorted. A shard has half as much room again as it needs, so that
// this is seldom.
type keyShard struct {
	mu       sync.Mutex
	keys     []key
	sorted   int          // keys at the beginning that are sorted, and differ
	level    int32        // at which they were sorted
	reused   Occurrences  // of them, those that have the id of another one
	unsorted map[key]bool // the other keys, if isNew has added them
}

func roomOfShard() int { return max(MaxKeys*3/2/keyShards, 16) }

func shardOf(id uint64) uint64 { return id / (1 << 64 / keyShards) }

func zerosOf(id uint64) int32 { return int32(bits.TrailingZeros64(id)) }

// put adds keys of one shard.
func (s *Set) put(keys ...key) {
	if len(keys) > 0 {
		shard := &s.shards[shardOf(keys[0].id)]
		shard.mu.Lock()
		s.append(shard, keys)
		shard.mu.Unlock()
	}
}

// isNew adds a key, unless the set has it already.
func (s *Set) isNew(k key) bool {
	shard := &s.shards[shardOf(k.id)]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if _, found := slices.BinarySearchFunc(shard.keys[:shard.sorted], k, compareKeys); found || shard.unsorted[k] {
		return false
	}
	s.append(shard, []key{k})
	if shard.unsorted == nil {
		shard.unsorted = map[key]bool{}
	}
	if shard.unsorted[k] = true; len(shard.unsorted) > roomOfShard()/8 {
		s.sort(shard, s.level.Load())
	}
	return true
}

// append adds keys to a shard that is locked. If the shard has no room, it may
// be unlocked for a while.
func (s *Set) append(shard *keyShard, keys []key) {
	if room := roomOfShard(); len(shard.keys)+len(keys) > cap(shard.keys) && len(shard.keys) >= min(room, 64) {
		if s.sort(shard, s.level.Load()) > room/4*3 {
			shard.mu.Unlock()
			s.raise(0)
			shard.mu.Lock()
		}
		if cap(shard.keys) < room { // the system gives memory when it is first used
			shard.keys = append(make([]key, 0, room), shard.keys...)
		}
	}
	shard.keys = append(shard.keys, keys...)
}

// raise raises the level to this level, and further until the set has room. It
// sorts all shards, and returns the number of keys.
func (s *Set) raise(level int32) int64 {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		defer s.shards[i].mu.Unlock()
	}
	for level = max(level, s.level.Load()); ; level++ {
		var keys atomic.Int64
		var wg sync.WaitGroup
		for i := range s.shards {
			wg.Go(func() { keys.Add(int64(s.sort(&s.shards[i], level))) })
		}
		wg.Wait()
		if s.level.Store(level); keys.Load() <= int64(MaxKeys) {
			return keys.Load()
		}
	}
}

// sort sorts a shard, and leaves out repeats and keys below a level. It returns
// the number of keys.
func (s *Set) sort(shard *keyShard, level int32) int {
	if shard.sorted == len(shard.keys) && shard.level == level {
		return shard.sorted
	}
	if shard.sorted < len(shard.keys) {
		sortKeys(shard.keys)
	}
	clear(shard.unsorted)
	shard.level, shard.sorted, shard.reused = level, 0, Occurrences{}
	var found byLevel
	var before key
	for _, k := range shard.keys {
		switch zeros := zerosOf(k.id); {
		case zeros < level:
			continue
		case k == before:
			found[zeros].add(1, k.time(), k.time())
			continue
		case k.id == before.id:
			shard.reused.add(1, before.time(), k.time())
		}
		shard.keys[shard.sorted], before = k, k
		shard.sorted++
	}
	shard.keys = shard.keys[:shard.sorted]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repeats.merge(&found)
	return shard.sorted
}

// sortKeys sorts the keys of a shard. The hashes of ids are random, so a radix
// sort of their first bits leaves few keys in wrong places.
func sortKeys(keys []key) {
	const digit, least = 9, 64 - 6 - 4*9
	if len(keys) > 1<<digit {
		memory, _ := spares.Get().(*[]key)
		defer spares.Put(memory)
		*memory = slices.Grow((*memory)[:0], len(keys))
		spare := (*memory)[:len(keys)]
		for shift := least; shift < 64-6; shift += digit {
			var places [1 << digit]int
			for i := range keys {
				places[keys[i].id>>shift%(1<<digit)]++
			}
			next := 0
			for i, n := range places {
				places[i], next = next, next+n
			}
			for _, k := range keys {
				place := &places[k.id>>shift%(1<<digit)]
				spare[*place] = k
				*place++
			}
			keys, spare = spare, keys
		}
	}
	if !slices.IsSortedFunc(keys, compareKeys) {
		slices.SortFunc(keys, compareKeys)
	}
}

// spares has memory for sorting.
var spares = sync.Pool{New: func() any { return new([]key) }}

type byLevel [64]Occurrences

func (r *byLevel) merge(o *byLevel) {
	for i, of := range o {
		r[i].add(of.N, of.First, of.Last)
	}
}

// Occurrences are some decisions.
type Occurrences struct {
	N     int64 `json:"count"`
	First int64 `json:"first"` // time, or logread.NoTime, if N is not 0
	Last  int64 `json:"last"`
}

// add adds n decisions, with the first and the last of their times, or
// logread.NoTime, which is less than all times.
func (o *Occurrences) add(n, first, last int64) {
	if n == 0 {
		return
	}
	if o.N == 0 {
		o.First, o.Last = first, last
	}
	if o.First == logread.NoTime || first != logread.NoTime && first < o.First {
		o.First = first
	}
	o.Last = max(o.Last, last)
	o.N += n
}
