// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Content holds the numbers of a Snapshot, except the counts by explicit
// bounds. Its fields have the values that the methods of the Snapshot return.
type Content struct {
	Layout           Layout // with the schema of the buckets
	Zeros, Negatives uint64
	Least, Most      int64 // the smallest and the largest positive value, or 0 if there is none
	SumHi, SumLo     uint64
	First            int // the index of the first bucket
	Counts           []uint64
}

// Restore replaces s by a snapshot with the content c, which may come from a
// file. It copies the counts of c. The counts by explicit bounds become 0. If
// no histogram can have the content c, Restore fails and empties s.
func (s *Snapshot) Restore(c *Content) error {
	s.Reset()
	if c.Layout.MaxBuckets == 0 {
		return errors.New("exphist: histogram: MaxBuckets is 0")
	}
	if err := c.Layout.Validate(); err != nil {
		return err
	}
	count, err := c.count()
	if err != nil {
		return fmt.Errorf("exphist: histogram: %w", err)
	}
	s.layout, s.zeros, s.negatives, s.count = c.Layout, c.Zeros, c.Negatives, count
	s.layout.Bounds = slices.Clone(c.Layout.Bounds)
	s.least, s.most, s.sum, s.first = c.Least, c.Most, uint128{c.SumHi, c.SumLo}, c.First
	s.counts = append(s.counts, c.Counts...)
	s.clearAtMost()
	return nil
}

// count returns the number of zeros and positive values, or an error if no
// histogram can have c.
func (c *Content) count() (uint64, error) {
	sum := uint128{c.SumHi, c.SumLo}
	if len(c.Counts) == 0 {
		if c.Least != 0 || c.Most != 0 || sum != (uint128{}) {
			return 0, errors.New("there are values, but no buckets")
		}
		return c.Zeros, nil
	}
	if len(c.Counts) > c.Layout.MaxBuckets {
		return 0, fmt.Errorf("there are %d buckets: at most %d are allowed", len(c.Counts), c.Layout.MaxBuckets)
	}
	last := len(c.Counts) - 1
	if c.Least < 1 || c.Most < c.Least || c.Layout.index(c.Least) != c.First || c.Layout.index(c.Most) != c.First+last ||
		c.Counts[0] == 0 || c.Counts[last] == 0 {
		return 0, errors.New("the buckets do not fit the smallest and the largest value")
	}
	count, low, high := c.Zeros, uint128{}, uint128{} // the sum must be between low and high
	for i, n := range c.Counts {
		if n == 0 {
			continue
		}
		var carry uint64
		if count, carry = bits.Add64(count, n, 0); carry != 0 {
			return 0, errors.New("there are 2^64 values or more")
		}
		least, most := c.Layout.limits(c.First + i)
		low = low.plus(times(n, max(least, c.Least)))
		high = high.plus(times(n, min(most, c.Most)))
	}
	if sum.less(low) || high.less(sum) {
		return 0, errors.New("the sum does not fit the buckets")
	}
	return count, nil
}

// index returns the index of the bucket that holds n > 0.
func (l Layout) index(n int64) int {
	g := gridOf(l.Unit, l.Schema)
	return parent(g.Position(n)+g.Base+1, max(-l.Schema, 0))
}

// times returns n·m, where m is not negative.
func times(n uint64, m int64) uint128 {
	hi, lo := bits.Mul64(n, uint64(m))
	return uint128{hi, lo}
}

func (a uint128) less(b uint128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }
