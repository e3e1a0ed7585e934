// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/regometer/regometer/internal/wire"
)

// A snapshot's binary form, without its layout, which those who keep many need
// only once, is
//
//	header     4·(schema as it is now − MinSchema) + 2·(1 if there are negative values) + (1 if there are zeros)
//	zeros      if there are any: how many
//	negatives  if there are any: how many
//	least      the smallest positive value, 0 if there is none: then nothing follows but the classes
//	more       the largest, less the smallest
//	sum        of the positive values
//	counts     of the buckets that are not empty, from that of the smallest value to that of the largest:
//	           2·count + (1 if there are empty ones before it), and if so how many, less 1
//	classes    for each explicit bound how many values are at most that, and above the one before, modulo 2^64
//
// in the numbers of package wire.

// The flags of the header, and its bits below the schema.
const (
	hasZeros     = 1
	hasNegatives = 2
	schemaShift  = 2
)

var errNoLayout = errors.New("exphist: an empty Snapshot has no layout, and so no binary form: let a histogram fill it")

// AppendBinary appends s without its layout, as CutBinary reads it. Equal
// snapshots give equal bytes. It is an error only if s has no layout.
func (s *Snapshot) AppendBinary(dst []byte) ([]byte, error) {
	if s.layout.MaxBuckets == 0 {
		return dst, errNoLayout
	}
	header := uint64(s.layout.Schema-MinSchema) << schemaShift
	if s.zeros > 0 {
		header |= hasZeros
	}
	if s.negatives > 0 {
		header |= hasNegatives
	}
	dst = wire.AppendUint(dst, header)
	if s.zeros > 0 {
		dst = wire.AppendUint(dst, s.zeros)
	}
	if s.negatives > 0 {
		dst = wire.AppendUint(dst, s.negatives)
	}
	if s.most == 0 {
		dst = wire.AppendUint(dst, 0)
	} else {
		dst = wire.AppendUint(dst, uint64(s.least))
		dst = wire.AppendUint(dst, uint64(s.most-s.least))
		dst = wire.AppendUint128(dst, s.sum.hi, s.sum.lo)
		dst = appendCounts(dst, s.counts)
	}
	below := s.zeros
	for _, n := range s.atMost {
		dst = wire.AppendUint(dst, n-below)
		below = n
	}
	return dst, nil
}

func appendCounts(dst []byte, counts []uint64) []byte {
	empty := uint64(0)
	for _, n := range counts {
		switch {
		case n == 0:
			empty++
		case empty == 0:
			dst = wire.AppendUint128(dst, n>>63, n<<1)
		default:
			dst = wire.AppendUint128(dst, n>>63, n<<1|1)
			dst = wire.AppendUint(dst, empty-1)
			empty = 0
		}
	}
	return dst
}

// CutBinary makes s what AppendBinary was given, from the beginning of text,
// and returns the rest. The layout is that of the histograms as they were made.
// It is an error if text cannot have been written by AppendBinary; s is not to
// be used then. It allocates at most 8 bytes for each of MaxBuckets and of the
// bounds, and reuses the memory of s.
func (s *Snapshot) CutBinary(l Layout, text []byte) (rest []byte, err error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	r := wire.NewReader(text)
	s.readBinary(l, r)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("exphist: histogram: %w", err)
	}
	return r.Rest(), nil
}

func (s *Snapshot) readBinary(l Layout, r *wire.Reader) {
	s.Reset()
	s.layout = l
	header := r.Uint(math.MaxUint8)
	s.layout.Schema = MinSchema + int(header>>schemaShift)
	if s.layout.Schema > l.Schema {
		r.Fail("its schema is %d: it can be at most %d", s.layout.Schema, l.Schema)
		return
	}
	if header&hasZeros != 0 {
		s.zeros = r.Uint(math.MaxUint64)
	}
	if header&hasNegatives != 0 {
		s.negatives = r.Uint(math.MaxUint64)
	}
	if header&hasZeros != 0 && s.zeros == 0 || header&hasNegatives != 0 && s.negatives == 0 {
		r.Fail("it says that it has values, and then that it has none")
	}
	s.count = s.zeros
	if s.least = int64(r.Uint(math.MaxInt64)); s.least > 0 {
		s.readPositive(r)
	}
	s.clearAtMost()
	below := s.zeros
	for i := range s.atMost {
		below += r.Uint(math.MaxUint64)
		s.atMost[i] = below
	}
}

// readPositive reads what there is of positive values.
func (s *Snapshot) readPositive(r *wire.Reader) {
	s.most = s.least + int64(r.Uint(uint64(math.MaxInt64-s.least)))
	s.sum.hi, s.sum.lo = r.Uint128()
	last := s.layout.index(s.most)
	s.first = s.layout.index(s.least)
	buckets := last - s.first + 1
	if buckets > s.layout.MaxBuckets {
		r.Fail("it has %d buckets: it can have at most %d", buckets, s.layout.MaxBuckets)
	}
	if r.Err() != nil {
		return
	}
	s.counts = slices.Grow(s.counts[:0], buckets)[:buckets]
	clear(s.counts)
	for i := 0; i < buckets; i++ {
		hi, lo := r.Uint128()
		skips := lo&1 != 0
		if skips && i > 0 {
			i += 1 + int(r.Uint(uint64(buckets)))
		}
		n := hi<<63 | lo>>1
		if hi > 1 || n == 0 || i >= buckets || skips && i == 0 {
			r.Fail("its counts are not those of its values")
			return
		}
		var carry uint64
		if s.count, carry = bits.Add64(s.count, n, 0); carry != 0 {
			r.Fail("it has too many values")
			return
		}
		s.counts[i] = n
	}
	if low, high := s.sums(); r.Err() == nil && (s.sum.less(low) || high.less(s.sum)) {
		r.Fail("its sum is not that of its values")
	}
}

// sums returns what the sum of the positive values is at least and at most: all
// are in their buckets, one is the smallest and one the largest.
func (s *Snapshot) sums() (low, high uint128) {
	for i, n := range s.counts {
		if n > 0 {
			b := s.layout.bucket(s.first + i)
			low = low.plus(times(n, max(b.Low, s.least)))
			high = high.plus(times(n, min(b.High, s.most)))
		}
	}
	largest, smallest := s.layout.bucket(s.first+len(s.counts)-1), s.layout.bucket(s.first)
	low = low.plus(times(1, s.most-max(largest.Low, s.least)))
	high = high.minus(times(1, min(smallest.High, s.most)-s.least))
	return low, high
}

// index returns the bucket of n > 0.
func (l Layout) index(n int64) int {
	g := gridOf(l.Unit, l.Schema)
	return parent(g.position(n)+g.base+1, max(-l.Schema, 0))
}

// times returns n·m, where m is not negative.
func times(n uint64, m int64) uint128 {
	hi, lo := bits.Mul64(n, uint64(m))
	return uint128{hi, lo}
}

func (a uint128) minus(b uint128) uint128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return uint128{a.hi - b.hi - borrow, lo}
}

func (a uint128) less(b uint128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }
