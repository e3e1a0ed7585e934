// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package hash

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Each byte of a text changes half of the bits of its hash, and so does a byte
// more. Saved reports have hashes, so a release must not change them.
func TestOf(t *testing.T) {
	hash := uint64(5)
	for _, text := range []string{"", "ab", "abcdefgh-", "490f4dca-f8a5-49c5-af1e-7da7935e9b56"} {
		hash = Of(hash, []byte(text))
	}
	if hash != 0xff006c9394db6f23 {
		t.Errorf("the hash is %#x: change formatVersion if this is wanted", hash)
	}
	r := rand.New(rand.NewPCG(1, 2))
	changed, n := [64]int{}, 0
	for length := range 50 {
		for at := range length + 1 {
			text := make([]byte, length)
			for i := range text {
				text[i] = byte(r.Uint32())
			}
			other := append(bytes.Clone(text), 0)
			if at < length {
				other = other[:length]
				other[at] ^= 1 << r.IntN(8)
			}
			for bit, d := 0, Of(7, text)^Of(7, other); bit < 64; bit++ {
				changed[bit] += int(d >> bit & 1)
			}
			n++
		}
	}
	for bit, c := range changed {
		if c < n*4/10 || c > n*6/10 {
			t.Errorf("bit %d changes %d of %d times", bit, c, n)
		}
	}
}
