// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/regometer/regometer/exphist"
)

// DefaultBounds returns 17 explicit bounds for rollup.Options, from 50 µs to
// 10 s. They are close where most decisions are, and above usual time-outs of
// http.send.
func DefaultBounds() []int64 {
	return []int64{50e3, 100e3, 150e3, 250e3, 400e3, 600e3,
		1e6, 2e6, 4e6, 10e6, 20e6, 50e6, 100e6, 500e6, 1.25e9, 6e9, 10e9}
}

// Bounds returns explicit bounds for rollup.Options. The seconds must be
// positive, must ascend, and must be whole numbers of nanoseconds. +Inf must
// not be among them, because that bound always exists. Bounds fails if a number
// is invalid. The error names the number.
func Bounds(seconds ...float64) ([]int64, error) {
	ns := make([]int64, len(seconds))
	for i, s := range seconds {
		n, err := nanoseconds(s)
		if err != nil {
			return nil, fmt.Errorf("prom: bound %d is %v: %w", i, s, err)
		}
		if i > 0 && n <= ns[i-1] {
			return nil, fmt.Errorf("prom: bound %d is %v, after %v: bounds must ascend", i, s, seconds[i-1])
		}
		ns[i] = n
	}
	if err := (exphist.Layout{Unit: exphist.Nanosecond, Bounds: ns}).Validate(); err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	return ns, nil
}

// nanoseconds converts seconds to nanoseconds. It takes seconds as the decimal
// number that was meant, such as 0.3, and not as the float64 nearest to it. It
// fails if the result is not a positive int64.
func nanoseconds(seconds float64) (int64, error) {
	decimal, ok := new(big.Rat).SetString(strconv.FormatFloat(seconds, 'e', -1, 64))
	if !ok || decimal.Sign() <= 0 {
		return 0, errors.New("a bound must be a positive number below +Inf, because the bound +Inf always exists")
	}
	ns := decimal.Mul(decimal, big.NewRat(1e9, 1))
	if !ns.IsInt() || !ns.Num().IsInt64() {
		return 0, errors.New("a bound must be a whole number of nanoseconds below 292 years")
	}
	return ns.Num().Int64(), nil
}

// inSeconds returns the label le of a bound. It is the number that Bounds was
// given, because both are the float64 nearest to the same decimal.
func inSeconds(bound int64) float64 { return float64(bound) / 1e9 }
