// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/regometer/regometer/exphist"
)

// defaultBounds are in nanoseconds: 10 µs to 10 s, as service levels and OPA's
// own http_request_duration_seconds have them.
var defaultBounds = []int64{10e3, 50e3, 100e3, 500e3, 1e6, 5e6, 10e6, 50e6, 100e6, 1e9, 10e9}

// DefaultBounds returns explicit bounds for rollup.Options: eleven, from 10 µs
// to 10 s.
func DefaultBounds() *exphist.Bounds {
	b, err := exphist.NewBounds(defaultBounds...)
	if err != nil {
		panic(err) // they are valid
	}
	return b
}

// Bounds returns explicit bounds for rollup.Options, given in seconds: whole
// numbers of nanoseconds, ascending. No bounds are nil. The bound of +Inf is
// always there and must not be given. The error names the number that is wrong.
func Bounds(seconds ...float64) (*exphist.Bounds, error) {
	if len(seconds) == 0 {
		return nil, nil
	}
	ns := make([]int64, len(seconds))
	for i, s := range seconds {
		n, err := nanoseconds(s)
		if err != nil {
			return nil, fmt.Errorf("prom: bound %d is %v: %w", i, s, err)
		}
		if i > 0 && n <= ns[i-1] {
			return nil, fmt.Errorf("prom: bound %d is %v, after %v: bounds ascend", i, s, seconds[i-1])
		}
		ns[i] = n
	}
	b, err := exphist.NewBounds(ns...)
	if err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	return b, nil
}

// nanoseconds converts the number that is meant: 0.3, not the float64 nearest
// to it.
func nanoseconds(seconds float64) (int64, error) {
	if math.IsInf(seconds, 1) {
		return 0, fmt.Errorf("leave it out, that bucket is always there")
	}
	if !(seconds > 0) { // NaN too
		return 0, fmt.Errorf("a bound is a positive number of seconds")
	}
	decimal, ok := new(big.Rat).SetString(strconv.FormatFloat(seconds, 'e', -1, 64))
	if !ok {
		return 0, fmt.Errorf("a bound is a number of seconds")
	}
	ns := decimal.Mul(decimal, big.NewRat(1e9, 1))
	if !ns.IsInt() || !ns.Num().IsInt64() {
		return 0, fmt.Errorf("a bound is a whole number of nanoseconds below 292 years")
	}
	return ns.Num().Int64(), nil
}

// seconds returns the label le of bound i: the number that was given, since
// both are the float64 nearest to it.
func seconds(b *exphist.Bounds, i int) float64 { return float64(b.At(i)) / 1e9 }
