// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A room keeps the Groups of several goroutines, which are merged later,
// together nearly as small as one of them may be. It has the lowest hashes of
// all their keys. If there are Limits.Groups of them, a key with a higher hash
// will have no group after the merge, so it needs none before.
type room struct {
	most  int
	limit atomic.Uint64 // the highest hash that has room

	mu     sync.Mutex
	hashes []uint64 // up to a quarter more than most, so that they are seldom sorted
}

// has reports whether there may be room for a key with a hash.
func (r *room) has(hash uint64) bool { return r == nil || hash <= r.limit.Load() }

// add adds the hash of a key that has a group.
func (r *room) add(hash uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hashes = append(r.hashes, hash); len(r.hashes) <= r.most+r.most/4 {
		return
	}
	slices.Sort(r.hashes)
	if r.hashes = slices.Compact(r.hashes); len(r.hashes) >= r.most {
		r.hashes = r.hashes[:r.most]
		r.limit.Store(r.hashes[r.most-1])
	}
}
