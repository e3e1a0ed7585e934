// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import "strings"

// key is a key of an object as it is written, with its quotes and its colon.
type key struct {
	text string
	line uint8 // its number among lines, or otherLine

	field field
	// For metrics.
	counts bool   // it is a timer or a counter
	number int32  // what Options.Metric says
	serial uint64 // of the object that had it last
}

// otherKey stands for all keys beyond the limit of keys that are remembered.
var otherKey = &key{field: fieldNone, line: otherLine}

// otherLine is the number of all keys that are too long or too many for a line.
const otherLine = 1

// keyLines are the keys of objects of one kind, by what they mean and by number,
// with the keys that followed each of them.
type keyLines struct {
	start key             // before the first key of an object
	known map[string]*key // nil if all are forgotten
	keys  []*key
	lines []keyLine
	found [mostFound]foundMember
	state [memberWords]uint64
}

// keyLine is a line as memberBlocks knows it: the text of the key, its length,
// when to list the member, the numbers of the keys that followed, the field, and
// ones for each byte of the text.
type keyLine [128]byte

const (
	lineLength = 56
	lineLists  = 57
	lineNext   = 58
	lineField  = lineNext + followers
	lineMask   = 64

	// followers limits the keys that are remembered to follow another one. Many
	// keys are optional.
	followers = 4

	// When to list a member: if it is an object, whose members are not skipped,
	// if it is a plain string, and if it is an object or array.
	listsMembers = 1
	listsStrings = 2
	listsNested  = 4
)

// What memberBlocks says: the last key's line, in bytes; the index behind its
// value, or 0 if no member was whole; the fields that were seen, also before,
// and those that are plain; and the number of listed members.
const (
	memberLine = iota
	memberEnd
	memberSeen
	memberPlain
	memberFound
	memberWords
)

// foundMember is a listed member. Of an event, it has the key's line in bytes,
// where the key and the value begin, and where the value ends. Of metrics, it has
// the line, where the value begins, and the number in two halves, or -1.
type foundMember [4]uint32

const mostFound = 32 // at a time

// span is a value's place in the text of an object.
type span struct{ start, end int32 }

// reset forgets all keys.
func (l *keyLines) reset() {
	*l = keyLines{known: map[string]*key{}, keys: []*key{&l.start, otherKey}, lines: make([]keyLine, 2)}
}

// add adds a key, and gives it a line if there is one.
func (l *keyLines) add(k *key, name []byte) {
	l.known[string(name)] = k
	if n := len(l.keys); n < 256 && len(k.text) <= lineLength {
		k.line = uint8(n)
		line := keyLine{lineLength: byte(len(k.text)), lineField: byte(k.field)}
		copy(line[lineMask:], strings.Repeat("\xff", copy(line[:], k.text)))
		if k.field == fieldMetrics {
			line[lineLists] |= listsMembers
		}
		if k.field >= fieldNone || k.field == fieldMsg {
			line[lineLists] |= listsStrings
		}
		if !k.field.isData() || k.field == fieldResult {
			line[lineLists] |= listsNested
		}
		l.keys, l.lines = append(l.keys, k), append(l.lines, line)
	}
}

// follow notes that a key followed another one.
func (l *keyLines) follow(before, k *key) {
	if k.line > otherLine {
		next := l.lines[before.line][lineNext : lineNext+followers]
		copy(next[1:], next)
		next[0] = k.line
	}
}

// guess returns the key at i if it is one that has followed the key before, or
// nil.
func (l *keyLines) guess(text []byte, i int, before *key) *key {
	next := l.lines[before.line][lineNext : lineNext+followers]
	for j, line := range next {
		if k := l.keys[line]; line > 0 && hasPrefix(text[i:], k.text) {
			if j > 0 { // so that the most frequent one becomes the first
				next[j-1], next[j] = line, next[j-1]
			}
			return k
		}
	}
	return nil
}

// key returns the key of a line by its index in bytes.
func (l *keyLines) key(line uint32) *key { return l.keys[line/uint32(len(keyLine{}))] }
