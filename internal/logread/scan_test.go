// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomText returns a text of pieces that matter to scanners.
func randomText(r *rand.Rand, most int) string {
	pieces := []string{
		"{", "}", "[", "]", `"`, `\"`, `\\`, `"a"`, `"}"`, `"{"`, `"\"}"`, `"a":`, ",", ":", "1", "null", " ", `"x":{`, `"x":[`, `"}{\\"`, `"\\\"]"`,
		strings.Repeat("x", 31),
	}
	var b strings.Builder
	for range 1 + r.IntN(most) {
		b.WriteString(oneOf(r, pieces...))
		if r.IntN(200) == 0 {
			b.WriteString(oneOf(r, "\n", "\\", `\\\`))
		}
	}
	return b.String()
}

// However an object or array ends, blocks find it as the portable way does, in
// broken texts too.
func TestNestedEnd(t *testing.T) {
	t.Parallel()
	rolls(t, 50_000, 5_000, func(r *rand.Rand) bool {
		text := []byte(oneOf(r, "{", "[") + randomText(r, oneOf(r, 20, 20, 20, 100, 100, 200, 200, 200, 4000)) + strings.Repeat(" ", 64))
		if r.IntN(2) == 0 {
			joinLines(text)
		}
		want := nestedEnd(text, 0)
		if got := valueEnd(text, 0, true); got != want {
			t.Fatalf("the value %q ends at %d, want %d", text, got, want)
		}
		return want > 0
	})
}

// What encoding/json takes for an object, the scanner does, and it finds its
// end.
func TestScanner(t *testing.T) {
	t.Parallel()
	rolls(t, 100_000, 1000, func(r *rand.Rand) bool {
		text := []byte("{" + randomText(r, 12))
		var s scanner
		st := s.scan(text)
		var raw json.RawMessage
		d := json.NewDecoder(strings.NewReader(string(text)))
		valid := d.Decode(&raw) == nil
		joinLines(text)
		if end := int(d.InputOffset()); valid != (st == done) || valid && (s.pos != end || valueEnd(text, 0, true) != end) {
			t.Fatalf("%q: status %d at %d, ends at %d, want an object: %t, which ends at %d", text, st, s.pos, valueEnd(text, 0, true), valid, end)
		}
		return valid
	})
}
