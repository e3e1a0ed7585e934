// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// stringPieces are what random strings are made of.
var stringPieces = []string{
	`\"`, `\"`, `\\`, `\/`, `\n`, `\r`, `\t`, `\b`, `\f`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, `\u12`, `\x`, `\ä`, "\\\x00", `\`,
	"a", "bcdefgh", "0123456789abcdef", "ä", "\x00", "\x1f\x7f", "\xff\x80", strings.Repeat(`\`, 63), strings.Repeat("plain ", 20),
}

// randomString returns a text that begins with a string, most often: it may
// end in a text that follows, have a newline, or be cut.
func randomString(r *rand.Rand) []byte {
	text := []byte(`"`)
	pieces := stringPieces
	if r.IntN(2) == 0 {
		pieces = pieces[:9] // of two bytes
	}
	for range r.IntN(1 << r.IntN(8)) {
		if r.IntN(2) == 0 {
			text = append(text, byte(r.IntN(26))+'a')
			continue
		}
		text = append(text, pieces[r.IntN(len(pieces))]...)
	}
	switch r.IntN(16) {
	case 0:
		text = slices.Insert(text, 1+r.IntN(len(text)), '\n')
	case 1:
		text = slices.Insert(text, 1+r.IntN(len(text)), byte(r.Uint32()))
	}
	text = append(text, '"')
	for range r.IntN(40) * r.IntN(2) {
		text = append(text, stringPieces[r.IntN(len(stringPieces))]...)
	}
	if r.IntN(8) == 0 {
		text = text[:1+r.IntN(len(text))]
	}
	return text
}

// What a string means is the same in one pass as in two, whatever is behind
// the text, and whichever way is taken.
func TestDecodeString(t *testing.T) {
	t.Parallel()
	ways := map[string]func(dst, text []byte, i int) ([]byte, int){"decodeString": decodeString, "decodeSpecial": decodeSpecial}
	r := rand.New(rand.NewPCG(11, 12))
	long, broken := 0, 0
	for range 100_000 {
		text := append([]byte("x"), randomString(r)...)
		behind := strings.Repeat([]string{`"`, "n", "\x00", `\`, "u00e4", "\n"}[r.IntN(6)], 64)
		text = append(text, behind...)[:len(text)]
		before := []byte("before")[:r.IntN(7):6]
		end := stringEnd(text, 1)
		for name, decode := range ways {
			got, gotEnd := decode(before, text, 1)
			if gotEnd != end {
				t.Fatalf("%s of %q: ends at %d, want %d", name, text, gotEnd, end)
			}
			if end < 0 {
				continue
			}
			if want := unescape(bytes.Clone(before), text[2:end-1]); !bytes.Equal(got, want) {
				t.Fatalf("%s of %q: %q, want %q", name, text, got, want)
			}
		}
		if end < 0 {
			broken++
		} else if end > 100 {
			long++
		}
	}
	if long < 10_000 || broken < 10_000 {
		t.Errorf("only %d were long, and %d broken", long, broken)
	}
}
