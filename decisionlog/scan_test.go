// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
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

// So it is where it looks at 64 bytes at a time, at most once through a text,
// and of values in one line.
func TestNestedFast(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	var ended, broke, unknown int
	for range 50_000 {
		var b strings.Builder
		b.WriteString("[{"[r.IntN(2):][:1])
		pieces := []string{"{", "}", "[", "]", `"}"`, `"{\"}`, `"`, `"\\"`, `"\\\"]"`, `"a":`, "1", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
		for range 1 + r.IntN(100) {
			b.WriteString(pieces[r.IntN(len(pieces))])
			if r.IntN(200) == 0 {
				b.WriteString([]string{"\n", "\\", "\\\\\\"}[r.IntN(3)])
			}
		}
		b.WriteString(strings.Repeat(" ", 64))
		text := []byte(b.String())
		line, _, cut := strings.Cut(b.String(), "\n")
		want, depth := nestedSlowly([]byte(line), 1, len(line)-1, text[0], 1)
		if depth > 0 || want < 0 {
			want = -1
		}
		switch got, known := nestedFast(text, 0); {
		case !known:
			unknown++
		case got != want:
			t.Fatalf("%q: %d, want %d", text, got, want)
		case got > 64:
			ended++
		case got < 0 && cut:
			broke++
		}
		if got := valueEnd(text, 0, false); got != want {
			t.Fatalf("%q: a value that ends at %d, want %d", text, got, want)
		}
	}
	if hasBlocks && (ended < 1000 || broke < 100) || unknown < 1000 {
		t.Errorf("%d ended, %d had a newline before, %d were unknown", ended, broke, unknown)
	}
}

// A string is plain if all that is in it is printable ASCII and no backslash.
func TestPlainEnd(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	plain := 0
	for range 200_000 {
		text := []byte(`x"`)
		want := -1
		for range r.IntN(30) {
			text = append(text, byte(' '+r.IntN(95)))
		}
		if r.IntN(2) == 0 && len(text) > 2 {
			text[2+r.IntN(len(text)-2)] = byte(r.Uint32())
		}
		text = append(text, `"xxxxxxxxxxxxxxxx`...)
		if n := strings.IndexFunc(string(text[2:]), func(c rune) bool { return c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf }); text[2+n] == '"' {
			want = 2 + n + 1
			plain++
		}
		if got := plainEnd(text, 1); got != want {
			t.Fatalf("%q: ends at %d, want %d", text, got, want)
		}
	}
	if plain < 50_000 {
		t.Errorf("only %d were plain", plain)
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
