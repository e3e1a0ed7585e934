// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"math/rand/v2"
	"unicode/utf8"
)

// nameLength limits the bytes of a name. A longer one is left out.
const nameLength = 1024

// hashed is a text with its hash.
type hashed struct {
	text []byte
	hash uint64
}

// hashText returns a text with its hash, or the empty text for one that is too
// long.
func hashText(text []byte) hashed {
	if len(text) > nameLength {
		text = nil
	}
	return hashed{text, Hash(0, text)}
}

// texts numbers texts. It knows a text by its hash: two texts with one hash of
// 64 bits are the same. Texts may come in any order, so that memory is the
// limit: a look-up takes one line of it.
type texts struct {
	slots  []slot // by hash; a power of two of them
	hashes []uint64
	list   []string
	bytes  int // of the list
}

type slot struct {
	hash   uint64
	number int32 // plus 1
}

// spread is random, so that nobody can choose texts that share their slots.
var spread = rand.Uint64() | 1

// home returns the index of the first slot in which to look for a hash. There
// must be slots.
func (t *texts) home(hash uint64) int { return int(mix(hash, spread)) & (len(t.slots) - 1) }

// find returns the number of the text with a hash, or -1.
func (t *texts) find(hash uint64) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	for at := t.home(hash); ; at = (at + 1) & (len(t.slots) - 1) {
		if s := t.slots[at]; s.hash == hash || s.number == 0 {
			return s.number - 1
		}
	}
}

// number returns the number of a text, which is new or not.
func (t *texts) number(h hashed) int32 {
	if n := t.find(h.hash); n >= 0 {
		return n
	}
	h = h.valid()
	return t.put(h.hash, string(h.text))
}

// valid returns the text in UTF-8.
func (h hashed) valid() hashed {
	if utf8.Valid(h.text) {
		return h
	}
	return hashText(bytes.ToValidUTF8(h.text, []byte("\uFFFD")))
}

// put returns the number of a text in UTF-8.
func (t *texts) put(hash uint64, text string) int32 {
	if n := t.find(hash); n >= 0 {
		return n
	}
	t.hashes, t.list, t.bytes = append(t.hashes, hash), append(t.list, text), t.bytes+len(text)
	first := len(t.list) - 1
	if 2*len(t.list) > len(t.slots) {
		t.slots, first = make([]slot, max(64, 2*len(t.slots))), 0
	}
	for n, hash := range t.hashes[first:] {
		at := t.home(hash)
		for t.slots[at].number > 0 {
			at = (at + 1) & (len(t.slots) - 1)
		}
		t.slots[at] = slot{hash, int32(first + n + 1)}
	}
	return int32(len(t.list) - 1)
}
