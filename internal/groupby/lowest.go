// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"strings"
)

// lowest keeps items of different keys, so that the one of the highest rank can
// go when there are too many: those that stay are the ones of the lowest rank,
// in whatever order they came. It is a heap, the highest first.
type lowest[T ranked] []T

// ranked is what is ordered by a hash, and by a key if the hashes are equal.
type ranked interface {
	rank() (hash uint64, key string)
}

func compareRanks(a, b ranked) int {
	hashA, keyA := a.rank()
	hashB, keyB := b.rank()
	return cmp.Or(cmp.Compare(hashA, hashB), strings.Compare(keyA, keyB))
}

// admits reports whether an item of this rank, which is not there, would be
// among so many.
func (l lowest[T]) admits(hash uint64, key []byte, limit int) bool {
	if len(l) < limit {
		return true
	}
	highest, highestKey := l[0].rank()
	return hash < highest || hash == highest && string(key) < highestKey
}

func (l *lowest[T]) add(x T) {
	*l = append(*l, x)
	items := *l
	for i := len(items) - 1; i > 0; {
		above := (i - 1) / 2
		if compareRanks(items[above], items[i]) >= 0 {
			break
		}
		items[above], items[i] = items[i], items[above]
		i = above
	}
}

// removeHighest removes the item of the highest rank, and returns it.
func (l *lowest[T]) removeHighest() T {
	items := *l
	highest, last := items[0], len(items)-1
	items[0] = items[last]
	clear(items[last:])
	items = items[:last]
	for i := 0; ; {
		below := 2*i + 1
		if below >= last {
			break
		}
		if below+1 < last && compareRanks(items[below], items[below+1]) < 0 {
			below++
		}
		if compareRanks(items[i], items[below]) >= 0 {
			break
		}
		items[below], items[i] = items[i], items[below]
		i = below
	}
	*l = items
	return highest
}
