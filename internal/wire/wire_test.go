// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	numbers := []uint64{0, 1, 127, 128, 1<<63 - 1, 1 << 63, math.MaxUint64}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		numbers = append(numbers, r.Uint64()>>r.IntN(64))
	}
	for i, n := range numbers {
		b := AppendUint(nil, n)
		if want := binary.AppendUvarint(nil, n); !bytes.Equal(b, want) {
			t.Fatalf("%d is written as %x, want %x", n, b, want)
		}
		if want := binary.AppendVarint(nil, int64(n)); !bytes.Equal(AppendInt(nil, int64(n)), want) {
			t.Fatalf("%d is written as %x, want %x", int64(n), AppendInt(nil, int64(n)), want)
		}
		hi := numbers[(i*7)%len(numbers)]
		b = AppendUint128(b, hi, n)
		b = AppendInt(b, int64(n))
		b = AppendString(b, "text")
		rd := NewReader(b)
		if got := rd.Uint(n); got != n {
			t.Fatalf("%d is read as %d", n, got)
		}
		if h, l := rd.Uint128(); h != hi || l != n {
			t.Fatalf("%d, %d is read as %d, %d", hi, n, h, l)
		}
		if got := rd.Int(); got != int64(n) {
			t.Fatalf("%d is read as %d", int64(n), got)
		}
		if got := rd.String(4); got != "text" {
			t.Fatalf("a string is read as %q", got)
		}
		if err := rd.End(); err != nil {
			t.Fatal(err)
		}
		for cut := range b {
			rd := NewReader(b[:cut])
			rd.Uint(math.MaxUint64)
			rd.Uint128()
			rd.Int()
			rd.String(4)
			if rd.Err() == nil {
				t.Fatalf("%x cut to %d bytes is no error", b, cut)
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		read             func(r *Reader)
	}{
		{"empty", "", "too early", func(r *Reader) { r.Uint(9) }},
		{"number that goes on", "\x80", "too early", func(r *Reader) { r.Uint(9) }},
		{"needless byte", "\x81\x00", "more bytes than it needs", func(r *Reader) { r.Uint(9) }},
		{"too large", "\x0a", "at most 9", func(r *Reader) { r.Uint(9) }},
		{"beyond 64 bits", string(AppendUint128(nil, 1, 0)), "too large", func(r *Reader) { r.Uint(math.MaxUint64) }},
		{"beyond 128 bits", strings.Repeat("\xff", 18) + "\x04", "too large", func(r *Reader) { r.Uint128() }},
		{"endless", strings.Repeat("\xff", 99), "too large", func(r *Reader) { r.Uint128() }},
		{"short string", "\x03ab", "too early", func(r *Reader) { r.String(9) }},
		{"string of length only", "\x01", "too early", func(r *Reader) { r.String(9) }},
		{"long string", "\x03abc", "at most 2", func(r *Reader) { r.String(2) }},
		{"huge count", string(AppendUint(nil, math.MaxUint64)), "too early", func(r *Reader) { r.Count(1) }},
		{"count of large things", "\x02abc", "too early", func(r *Reader) { r.Count(2) }},
		{"rest", "\x01\x02", "1 bytes more", func(r *Reader) { r.Uint(9); _ = r.End() }},
		{"first of two", "\x0a\x81\x00", "at most 9", func(r *Reader) { r.Uint(9); r.Uint(9); r.Fail("later") }},
	} {
		r := NewReader([]byte(c.text))
		c.read(r)
		if r.Err() == nil || !strings.Contains(r.Err().Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, r.Err(), c.want)
		}
		if n := r.Uint(math.MaxUint64); n != 0 || len(r.Rest()) != 0 {
			t.Errorf("%s: after the error there is %d, and %d bytes more", c.name, n, len(r.Rest()))
		}
	}
}
