// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"slices"
	"strings"
)

// MaxBounds limits the number of explicit bounds of a histogram.
const MaxBounds = 100

// Bounds are explicit bounds, in the recorded unit. Beside its exponential
// buckets, a histogram counts exactly how many values are at most each bound.
// Prometheus calls these counts classic buckets, and puts the bound into the
// label le. NewBounds makes Bounds, which never change. A nil *Bounds has no
// bounds.
type Bounds struct {
	ascending []int64 // distinct and positive
}

// NewBounds returns bounds from up to MaxBounds ascending positive integers. It
// fails if there are more, or if one is invalid. The error names it.
func NewBounds(values ...int64) (*Bounds, error) {
	if len(values) > MaxBounds {
		return nil, fmt.Errorf("exphist: bounds: there are %d bounds: at most %d are allowed", len(values), MaxBounds)
	}
	for i, n := range values {
		switch {
		case n <= 0:
			return nil, fmt.Errorf("exphist: bounds: values[%d] is %d: a bound must be at least 1", i, n)
		case i > 0 && n <= values[i-1]:
			return nil, fmt.Errorf("exphist: bounds: values[%d] is %d, after %d: bounds must ascend", i, n, values[i-1])
		}
	}
	return &Bounds{slices.Clone(values)}, nil
}

// Len returns the number of bounds.
func (b *Bounds) Len() int { return len(b.list()) }

// At returns bound i, from 0 to Len()−1. It panics for other i.
func (b *Bounds) At(i int) int64 { return b.list()[i] }

// Equal reports whether b and o have the same bounds.
func (b *Bounds) Equal(o *Bounds) bool { return slices.Equal(b.list(), o.list()) }

// String returns the bounds, separated by commas, or "none".
func (b *Bounds) String() string {
	if b.Len() == 0 {
		return "none"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(b.list()), " ", ", "), "[]")
}

func (b *Bounds) list() []int64 {
	if b == nil {
		return nil
	}
	return b.ascending
}

// class returns the class of n. Class i has the values above bound i−1 and up
// to bound i. The last class has the values above all bounds.
func (b *Bounds) class(n int64) int {
	i, _ := slices.BinarySearch(b.list(), n)
	return i
}
