// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"hash/maphash"
	"sync/atomic"
)

// table is a map from strings that is only added to: looking up needs no lock
// and allocates nothing. Keys given to add must not be in it yet, and calls of
// add must not overlap.
type table[T any] struct {
	seed    maphash.Seed
	buckets []atomic.Pointer[item[T]] // a power of two of them
}

type item[T any] struct {
	hash  uint64
	key   string
	value *T
	next  *item[T]
}

// maxBuckets limits what a table for very many keys takes before it has any.
const maxBuckets = 1 << 16

// newTable returns a table meant for n keys. More only make it slower.
func newTable[T any](n int) table[T] {
	size := 16
	for size < n && size < maxBuckets {
		size *= 2
	}
	return table[T]{maphash.MakeSeed(), make([]atomic.Pointer[item[T]], size)}
}

// get returns nil if the key is not there.
func (t *table[T]) get(key string) *T {
	hash := maphash.String(t.seed, key)
	for i := t.bucket(hash).Load(); i != nil; i = i.next {
		if i.hash == hash && i.key == key {
			return i.value
		}
	}
	return nil
}

func (t *table[T]) add(key string, v *T) {
	hash := maphash.String(t.seed, key)
	b := t.bucket(hash)
	b.Store(&item[T]{hash, key, v, b.Load()})
}

func (t *table[T]) bucket(hash uint64) *atomic.Pointer[item[T]] {
	return &t.buckets[hash&uint64(len(t.buckets)-1)]
}
