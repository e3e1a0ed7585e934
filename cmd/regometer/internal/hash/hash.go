// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package hash has the hash of ids and names, by which samples are chosen.
package hash

import (
	"encoding/binary"
	"math/bits"
)

// Of returns a hash like wyhash (https://github.com/wangyi-fudan/wyhash), which
// continues h. Saved reports have hashes, so they must not change.
func Of(h uint64, text []byte) uint64 {
	const a, b, c = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3
	h ^= a * uint64(len(text)+1)
	var first, last uint64
	if n := len(text); n >= 16 {
		first, last = binary.LittleEndian.Uint64(text[n-16:]), binary.LittleEndian.Uint64(text[n-8:])
		for ; len(text) > 16; text = text[16:] {
			h = Mix(binary.LittleEndian.Uint64(text)^b, binary.LittleEndian.Uint64(text[8:])^h)
		}
	} else if n >= 8 {
		first, last = binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
	} else {
		for _, letter := range text {
			first = first<<8 | uint64(letter)
		}
	}
	return Mix(Mix(first^b, last^h), c)
}

// Mix returns the halves of a product, of which each bit depends on both numbers.
func Mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
