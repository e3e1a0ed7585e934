// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire writes and reads the numbers and strings of which the binary
// form of a rollup is made.
//
// A number is written in groups of seven bits, the lowest first, each in a byte
// whose highest bit says whether more follow; never in more bytes than needed.
// One that can be negative is mapped to 0, 1, 2, 3, … from 0, −1, 1, −2, …
// before. A string is its length in bytes, and these.
package wire

import (
	"errors"
	"fmt"
	"math"
)

// AppendUint appends n.
func AppendUint(dst []byte, n uint64) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// AppendUint128 appends hi·2^64 + lo.
func AppendUint128(dst []byte, hi, lo uint64) []byte {
	for hi > 0 {
		dst = append(dst, byte(lo)|0x80)
		hi, lo = hi>>7, hi<<57|lo>>7
	}
	return AppendUint(dst, lo)
}

// AppendInt appends a number that can be negative.
func AppendInt(dst []byte, n int64) []byte { return AppendUint(dst, uint64(n)<<1^uint64(n>>63)) }

// AppendString appends a string.
func AppendString(dst []byte, s string) []byte {
	return append(AppendUint(dst, uint64(len(s))), s...)
}

// Reader reads what was appended. After an error it returns zeros, and keeps
// the first error: so that need be looked at only before what was read is used
// for more than to read on.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a reader of b, which must not change meanwhile.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail makes what is wrong with what was read the error, if it is the first.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

// Rest returns what is left, nothing after an error.
func (r *Reader) Rest() []byte { return r.rest }

// SkipTo goes on with rest, which is what somebody else left of Rest.
func (r *Reader) SkipTo(rest []byte) { r.rest = rest }

// End returns the first error, or one if something is left.
func (r *Reader) End() error {
	if len(r.rest) > 0 {
		r.Fail("%d bytes more than expected", len(r.rest))
	}
	return r.err
}

var errShort = errors.New("it ends too early")

// Uint128 reads hi·2^64 + lo.
func (r *Reader) Uint128() (hi, lo uint64) {
	for i, b := range r.rest {
		group, shift := uint64(b&0x7f), 7*uint(i)
		if i == maxBytes || i == maxBytes-1 && b > 3 {
			r.Fail("a number is too large")
			return 0, 0
		}
		// A shift by 64 or more, and so by less than 0 too, leaves nothing.
		lo |= group << shift
		hi |= group<<(shift-64) | group>>(64-shift)
		if b < 0x80 {
			if b == 0 && i > 0 {
				r.Fail("a number has more bytes than it needs")
				return 0, 0
			}
			r.rest = r.rest[i+1:]
			return hi, lo
		}
	}
	r.short()
	return 0, 0
}

// maxBytes is what a number has at most: 126 bits, and two more.
const maxBytes = 19

func (r *Reader) short() {
	if r.err == nil {
		r.err = errShort
	}
	r.rest = nil
}

// Uint reads a number up to most.
func (r *Reader) Uint(most uint64) uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 && uint64(r.rest[0]) <= most { // nearly all are so
		n := uint64(r.rest[0])
		r.rest = r.rest[1:]
		return n
	}
	hi, n := r.Uint128()
	if r.err == nil && (hi > 0 || n > most) {
		r.Fail("a number is too large: it may be at most %d", most)
		return 0
	}
	return n
}

// Int reads a number that can be negative.
func (r *Reader) Int() int64 {
	n := r.Uint(math.MaxUint64)
	return int64(n>>1) ^ -int64(n&1)
}

// Count reads how many things follow, of which each has at least so many bytes:
// there can be no more than are left.
func (r *Reader) Count(bytes int) int {
	n := r.Uint(math.MaxUint64)
	if n > uint64(len(r.rest)/bytes) {
		r.short()
		return 0
	}
	return int(n)
}

// Bytes reads a string of at most so many bytes, which is not copied.
func (r *Reader) Bytes(most int) []byte {
	n := r.Count(1)
	if n > most {
		r.Fail("a string has %d bytes: it may have at most %d", n, most)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// String reads a string of at most so many bytes.
func (r *Reader) String(most int) string { return string(r.Bytes(most)) }
