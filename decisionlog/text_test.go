// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// What a string means is the same in one pass as in two.
func TestDecodeString(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	pieces := []string{`\"`, `\"`, `\\`, `\/`, `\n`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, `\u12`, `\x`, "a", "bcdefgh", "0123456789abcdef", "ä"}
	long, broken := 0, 0
	for range 50_000 {
		text := []byte(`x"`)
		for range r.IntN(60) {
			text = append(text, pieces[r.IntN(len(pieces))]...)
		}
		text = append(text, '"')
		if r.IntN(20) == 0 {
			text[2+r.IntN(len(text)-2)] = '\n'
		}
		text = append(text, make([]byte, r.IntN(100))...)
		before := []byte("before")
		end := stringEnd(text, 1)
		got, gotEnd := decodeString(before, text, 1)
		if gotEnd != end {
			t.Fatalf("%q: ends at %d, want %d", text, gotEnd, end)
		}
		if end < 0 {
			broken++
			continue
		}
		if want := unescape(bytes.Clone(before), text[2:end-1]); !bytes.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
		if end > 100 {
			long++
		}
	}
	if long < 10_000 || broken < 1000 {
		t.Errorf("only %d were long, and %d broken", long, broken)
	}
}
