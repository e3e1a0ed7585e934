// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// integer returns v as an int64. It returns false if v is not a number, or if
// its value is not an integer of 64 bits.
func integer(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case int:
		return int64(v), true
	case float64:
		return integral(v)
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(string(v), 64) // 1e3, 5.0
		if err != nil || math.Abs(f) >= 1<<53 {
			return 0, false // a larger number may have been rounded
		}
		return integral(f)
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int(), true
	case r.CanUint():
		return int64(r.Uint()), r.Uint() <= math.MaxInt64
	case r.CanFloat():
		return integral(r.Float())
	default:
		return 0, false
	}
}

// integral returns f as an int64. It returns false if f is not an integer of 64
// bits.
func integral(f float64) (n int64, ok bool) {
	if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return 0, false // NaN and infinities too
	}
	return int64(f), true
}
