// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
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
// 64 bits are the same.
type texts struct {
	numbers map[uint64]int32 // by hash
	hashes  []uint64
	list    []string
	bytes   int // of the list
}

// find returns the number of the text with a hash, or -1.
func (t *texts) find(hash uint64) int32 {
	if n, ok := t.numbers[hash]; ok {
		return n
	}
	return -1
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
	if t.numbers == nil {
		t.numbers = map[uint64]int32{}
	}
	n := int32(len(t.list))
	t.numbers[hash] = n
	t.hashes, t.list, t.bytes = append(t.hashes, hash), append(t.list, text), t.bytes+len(text)
	return n
}
