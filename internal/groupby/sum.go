// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
)

// Sum is an unsigned sum of 128 bits, Hi·2^64 + Lo.
type Sum struct{ Hi, Lo uint64 }

// Plus returns a + b, modulo 2^128.
func (a Sum) Plus(b Sum) Sum {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	return Sum{a.Hi + b.Hi + carry, lo}
}

// minus returns a − b. b must not be above a.
func (a Sum) minus(b Sum) Sum {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	return Sum{a.Hi - b.Hi - borrow, lo}
}

// String returns the sum in decimal.
func (a Sum) String() string {
	if a.Hi == 0 {
		return strconv.FormatUint(a.Lo, 10)
	}
	n := new(big.Int).SetUint64(a.Hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(a.Lo)).String()
}

// MarshalJSON returns the sum in decimal.
func (a Sum) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON sets the sum to that whose String is text. It fails if there is
// none.
func (a *Sum) UnmarshalJSON(text []byte) error {
	n := new(big.Int)
	if len(text) < 40 {
		n.SetString(string(text), 10)
	}
	var b [17]byte // more than 39 digits need
	n.FillBytes(b[:])
	*a = Sum{binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])}
	if a.String() != string(text) {
		return fmt.Errorf("invalid sum %.50q: it must be an integer from 0 to 2^128-1", text)
	}
	return nil
}

// Less reports whether a is less than b.
func (a Sum) Less(b Sum) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

// addSaturated returns a + b, or the largest uint64 if the sum exceeds it.
func addSaturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// sums bounds the counts of restored and merged groups, because a file can have
// any counts. Add alone cannot reach the bounds.
type sums struct {
	counts uint64 // of all decisions, timers and errors
	raised Sum    // the sum of all counters
}

var errTooMany = errors.New("the numbers are too large: counts must add up to less than 2^63, and counters to less than 2^127")

// add adds o. It fails if a count could overflow.
func (s *sums) add(o sums) error {
	s.counts = addSaturated(s.counts, o.counts)
	s.raised = s.raised.Plus(o.raised)
	if s.counts >= 1<<63 || o.raised.Hi >= 1<<63 || s.raised.Hi >= 1<<63 {
		return errTooMany
	}
	return nil
}
