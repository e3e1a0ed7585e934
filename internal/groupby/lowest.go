// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"container/heap"
	"strings"
)

// lowest keeps the texts of the lowest ranks, in whatever order they are added.
// It is a heap. Its first text has the highest rank.
type lowest []ranked

// ranked is a key or a name. Ranks are ordered by hash, and by text if the
// hashes are equal.
type ranked struct {
	hash uint64 // the keyHash of the text
	text string
}

// admits reports whether a new text would have room if l may keep limit texts.
func (l lowest) admits(text []byte, limit int) bool {
	if len(l) < limit {
		return true
	}
	hash := keyHash(text)
	return hash < l[0].hash || hash == l[0].hash && string(text) < l[0].text
}

// add adds a text, and returns its hash.
func (l *lowest) add(text string) uint64 {
	hash := keyHash([]byte(text))
	heap.Push(l, ranked{hash, text})
	return hash
}

// removeHighest removes and returns the text of the highest rank.
func (l *lowest) removeHighest() string { return heap.Pop(l).(ranked).text }

// The methods of heap.Interface.

func (l lowest) Len() int { return len(l) }

func (l lowest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].hash, l[j].hash), strings.Compare(l[i].text, l[j].text)) > 0
}

func (l lowest) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *lowest) Push(x any)   { *l = append(*l, x.(ranked)) }

func (l *lowest) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	(*l)[last] = ranked{}
	*l = (*l)[:last]
	return x
}
