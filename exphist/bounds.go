// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"slices"
	"strings"
)

// MaxBounds is how many explicit bounds a histogram may have.
const MaxBounds = 100

// Bounds are explicit bounds, in the recorded unit. A histogram counts for each
// of them exactly how many values are at most that, beside its exponential
// buckets: Prometheus calls that classic buckets, with the bounds in the label
// le. NewBounds makes them, and nothing changes them. A nil *Bounds has none.
type Bounds struct {
	ascending []int64 // distinct and positive
}

// NewBounds returns these bounds, at most MaxBounds positive integers that
// ascend, or an error that names the wrong one.
func NewBounds(values ...int64) (*Bounds, error) {
	if len(values) > MaxBounds {
		return nil, fmt.Errorf("exphist: bounds: there are %d: at most %d are allowed", len(values), MaxBounds)
	}
	for i, n := range values {
		switch {
		case n <= 0:
			return nil, fmt.Errorf("exphist: bounds: values[%d] is %d: a bound is at least 1", i, n)
		case i > 0 && n <= values[i-1]:
			return nil, fmt.Errorf("exphist: bounds: values[%d] is %d, after %d: bounds ascend", i, n, values[i-1])
		}
	}
	return &Bounds{slices.Clone(values)}, nil
}

// Len returns how many bounds there are.
func (b *Bounds) Len() int { return len(b.list()) }

// At returns bound i, from 0 to Len()−1.
func (b *Bounds) At(i int) int64 { return b.list()[i] }

// Equal reports whether b and o are the same bounds.
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

// class returns the class of n: class i holds what is above bound i−1 and at
// most bound i, the last one what is above all bounds.
func (b *Bounds) class(n int64) int {
	i, _ := slices.BinarySearch(b.list(), n)
	return i
}
