// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"math/rand/v2"
	"unicode/utf8"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
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
	return hashed{text, hash.Of(0, text)}
}

// texts numbers texts. It knows a text by its hash: two texts with one hash of
// 64 bits are the same. Texts may come in any order, so that memory is the
// limit: a look-up takes two lines of it.
type texts struct {
	slots  []int32 // numbers, plus 1, by hash; a power of two of them
	hashes []uint64
	list   []string
	bytes  int // of the list
}

// spread is random, so that nobody can choose texts that share their slots.
var spread = rand.Uint64() | 1

// find returns the number of the text with a hash, or -1.
func (t *texts) find(hash uint64) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	return *t.slot(hash) - 1
}

// slot returns the slot of a hash, which has 0 if there is no text with it.
func (t *texts) slot(of uint64) *int32 {
	mask := len(t.slots) - 1
	for at := int(hash.Mix(of, spread)) & mask; ; at = (at + 1) & mask {
		if n := t.slots[at] - 1; n < 0 || t.hashes[n] == of {
			return &t.slots[at]
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
	from := len(t.list) - 1
	if 2*len(t.list) > len(t.slots) {
		t.slots, from = make([]int32, max(64, 2*len(t.slots))), 0
		clear(t.slots) // the system is slower at giving memory that is read first
	}
	for n := from; n < len(t.list); n++ {
		*t.slot(t.hashes[n]) = int32(n + 1)
	}
	return int32(len(t.list) - 1)
}
