// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import "strings"

// key is a key of an object as it is written, with its quotes and its colon.
type key struct {
	text string
	next [followers]*key // that followed it

	field field
	// For members of wrappers. holdsText says that the last string held JSON,
	// so the reader decodes the next one while it looks for its end. barren is
	// the last value without an event, and barrenAt its place.
	holdsText bool
	barren    []byte
	barrenAt  nesting

	// For metrics.
	counts bool // it is a timer or a counter
	number int32
	serial uint64 // of the object that had it last
	at     int    // where its measure is, -1: nowhere
}

// followers limits the keys that are remembered to follow another one. Many
// keys are optional.
const followers = 4

// otherKey stands for all keys beyond the limit of keys that are remembered.
var otherKey = &key{field: fieldNone}

// precedes notes that next followed k. It leaves out a key with a newline
// before its colon, because most texts have one event a line.
func (k *key) precedes(next *key) {
	if k != otherKey && strings.IndexByte(next.text, '\n') < 0 {
		copy(k.next[1:], k.next[:])
		k.next[0] = next
	}
}

// guess returns the key at i if it is one that has followed k, or nil.
func (k *key) guess(text []byte, i int) *key {
	for _, next := range &k.next {
		if next == nil {
			break
		}
		if hasPrefix(text[i:], next.text) {
			return next
		}
	}
	return nil
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

// keyEnd returns the indexes behind the key at i and behind its colon, or -1.
func keyEnd(text []byte, i int, lines bool) (end, colon int) {
	if i >= len(text) || text[i] != '"' {
		return -1, -1
	}
	if end = stringEnd(text, i); end < 0 {
		return -1, -1
	}
	if colon = skipIn(text, end, lines); colon >= len(text) || text[colon] != ':' {
		return -1, -1
	}
	return end, colon + 1
}
