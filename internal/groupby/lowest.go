// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"container/heap"
	"strings"
)

// lowest keeps the items of the lowest ranks, in whatever order they are added.
// It is a heap. Its first item has the highest rank.
type lowest[T ranked] []T

// ranked is an item with a rank. Ranks are ordered by hash, and by key if the
// hashes are equal.
type ranked interface {
	rank() (hash uint64, key string)
}

func compareRanks(a, b ranked) int {
	hashA, keyA := a.rank()
	hashB, keyB := b.rank()
	return cmp.Or(cmp.Compare(hashA, hashB), strings.Compare(keyA, keyB))
}

// admits reports whether a new item of this rank would have room if l may keep
// limit items.
func (l lowest[T]) admits(hash uint64, key []byte, limit int) bool {
	if len(l) < limit {
		return true
	}
	highest, highestKey := l[0].rank()
	return hash < highest || hash == highest && string(key) < highestKey
}

func (l *lowest[T]) add(x T) { heap.Push(l, x) }

// removeHighest removes and returns the item of the highest rank.
func (l *lowest[T]) removeHighest() T { return heap.Pop(l).(T) }

// The methods of heap.Interface.

func (l lowest[T]) Len() int           { return len(l) }
func (l lowest[T]) Less(i, j int) bool { return compareRanks(l[i], l[j]) > 0 }
func (l lowest[T]) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lowest[T]) Push(x any)        { *l = append(*l, x.(T)) }

func (l *lowest[T]) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	clear((*l)[last:])
	*l = (*l)[:last]
	return x
}
