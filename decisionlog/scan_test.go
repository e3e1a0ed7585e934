// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomText returns a text of pieces that matter to scanners.
func randomText(r *rand.Rand, most int) string {
	pieces := []string{"{", "}", "[", "]", `"`, `\"`, `\\`, `"a"`, `"}"`, `"{"`, `"\"}"`, `"a":`, ",", ":", "1", "null", " ", `"x":{`, `"x":[`, `"}{\\"`}
	var b strings.Builder
	for range 1 + r.IntN(most) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// However an object ends, nestedEnd finds it as fast as slowly, in broken texts
// too.
func TestNestedEnd(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	ended := 0
	for range 100_000 {
		text := []byte("{" + randomText(r, 20))
		if r.IntN(2) == 0 {
			text[0] = '['
		}
		want, depth := nestedSlowly(text, 1, len(text)-1, text[0], 1)
		if depth > 0 {
			want = -1
		}
		if got := nestedEnd(text, 0); got != want {
			t.Fatalf("%q: %d, want %d", text, got, want)
		}
		if want > 0 {
			ended++
		}
	}
	if ended < 1000 {
		t.Errorf("only %d ended", ended)
	}
}

// What encoding/json takes for an object, the scanner does, and it finds its
// end; if it is given in parts, too.
func TestScanner(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	valid := 0
	for range 100_000 {
		text := []byte("{" + randomText(r, 12))
		var s scanner
		st := s.scan(text)
		var raw json.RawMessage
		d := json.NewDecoder(strings.NewReader(string(text)))
		ok := d.Decode(&raw) == nil
		if ok != (st == done) {
			t.Fatalf("%q: %d, want %t", text, st, ok)
		}
		if ok && s.pos != int(d.InputOffset()) {
			t.Fatalf("%q: ends at %d, want %d", text, s.pos, d.InputOffset())
		}
		if ok {
			valid++
			if end := valueEnd(text, 0, false); end != s.pos {
				t.Fatalf("%q: ends at %d, want %d", text, end, s.pos)
			}
		}
		var parts scanner
		for n := range text {
			if got := parts.scan(text[:n]); got != more {
				if got != st || got == done && parts.pos != s.pos {
					t.Fatalf("%q, of which %d bytes: %d, want %d", text, n, got, st)
				}
				break
			}
		}
	}
	if valid < 1000 {
		t.Errorf("only %d were valid", valid)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]status{MaxDepth: done, MaxDepth + 1: deep, 100_000: deep} {
		var s scanner
		if got := s.scan([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); got != want {
			t.Errorf("%d deep: %d, want %d", depth, got, want)
		}
	}
}
