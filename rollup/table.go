// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/regometer/regometer/internal/stages"
)

// table is a map with string keys that only grows. get takes no lock and
// allocates nothing. Calls of add must not overlap, and each must have a new
// key.
type table[T any] struct {
	hash    func(string) uint64
	buckets []atomic.Pointer[item[T]] // a power of two of them
}

type item[T any] struct {
	hash  uint64
	key   string
	value *T
	next  *item[T]
}

// maxBuckets limits the buckets of a table. Tables with more keys only become
// slower.
const maxBuckets = 1 << 16

// newTable returns a table for n keys. More keys only make it slower. hash must
// always return the same hash for the same key. Keys may share a hash.
func newTable[T any](n int, hash func(string) uint64) table[T] {
	size := 16
	for size < n && size < maxBuckets {
		size *= 2
	}
	return table[T]{hash, make([]atomic.Pointer[item[T]], size)}
}

// newSeededHash returns a hash function that clients cannot predict. They can
// invent keys.
func newSeededHash() func(string) uint64 {
	seed := maphash.MakeSeed()
	return func(key string) uint64 { return maphash.String(seed, key) }
}

// keyHash is a fast hash of the keys of metrics. It depends only on a key's
// length and the eight bytes before "_ns", which differ between OPA's names.
// Clients cannot fill a table with keys of one hash, because only the options
// add keys.
func keyHash(key string) uint64 {
	const suffix, n = len(stages.TimerSuffix), 8
	if len(key) < suffix+n {
		return uint64(len(key))
	}
	s := key[len(key)-suffix-n:]
	word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio, which mixes the upper bits of products well
	h := (word ^ uint64(len(key))) * golden
	return h ^ h>>32
}

// get returns the value of a key, or nil if the key is not in the table.
func (t *table[T]) get(key string) *T {
	hash := t.hash(key)
	for i := t.bucket(hash).Load(); i != nil; i = i.next {
		if i.hash == hash && i.key == key {
			return i.value
		}
	}
	return nil
}

func (t *table[T]) add(key string, v *T) {
	hash := t.hash(key)
	b := t.bucket(hash)
	b.Store(&item[T]{hash, key, v, b.Load()})
}

func (t *table[T]) bucket(hash uint64) *atomic.Pointer[item[T]] {
	return &t.buckets[hash&uint64(len(t.buckets)-1)]
}
