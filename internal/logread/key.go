// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import "strings"

// key is a key of an object, whatever is around it.
type key struct {
	field field
	// For members of wrappers: the last value without an event, and its place.
	barren   []byte
	barrenAt nesting

	// For metrics.
	name   string
	counts bool   // it is a timer or a counter
	asked  bool   // number is what Options.Metric says
	number int32  // or negative
	serial uint64 // of the object that had it last
	at     int    // where its measure is, -1: nowhere
}

// otherKey stands for all keys beyond the limit of keys that are remembered.
var otherKey = &key{field: fieldNone}

// gap is the text between two values of an object, or before the first one:
// {"path": for example, or a comma, blanks, a key and a colon. Most objects have
// the gaps of the object before, in the same order, so one comparison reads them.
type gap struct {
	text  string // empty if it is not remembered
	lines bool   // it has a newline
	key   *key
	next  [4]*gap // those that have followed it, the last first: many keys are optional
}

// longestGap limits the length of a gap that is remembered, in bytes.
const longestGap = 1 << 10

// keys are the keys of objects of one kind.
type keys struct {
	start  gap // before an object
	other  gap // any that is not remembered
	byName map[string]*key
	byText map[string]*gap
}

// reset forgets all keys.
func (k *keys) reset() {
	*k = keys{other: gap{key: otherKey}, byName: map[string]*key{}, byText: map[string]*gap{}}
}

// guess returns the gap at i if it is one that has followed g, or nil.
func (g *gap) guess(text []byte, i int, lines bool) *gap {
	for j, n := range g.next {
		if n == nil {
			break
		}
		if hasPrefix(text[i:], n.text) && (lines || !n.lines) {
			if j > 0 { // so that the most frequent one becomes the first
				g.next[j-1], g.next[j] = n, g.next[j-1]
			}
			return n
		}
	}
	return nil
}

// gapOf returns the gap with a text before a key, and notes that it followed
// another one.
func (k *keys) gapOf(text []byte, key *key, before *gap) *gap {
	g := k.byText[string(text)]
	if g == nil {
		if len(text) > longestGap || len(k.byText) > 2*len(k.byName) {
			k.other.key = key
			return &k.other
		}
		g = &gap{text: string(text), lines: strings.IndexByte(string(text), '\n') >= 0, key: key}
		k.byText[g.text] = g
	}
	copy(before.next[1:], before.next[:])
	before.next[0] = g
	return g
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
