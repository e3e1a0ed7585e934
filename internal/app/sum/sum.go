// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package sum reckons with the sums of 128 bits of a rollup. Its functions may
// be called at the same time.
package sum

import (
	"cmp"
	"math"
	"math/big"
	"strconv"

	"github.com/regometer/regometer/rollup"
)

// String writes a sum in decimal, whole.
func String(s rollup.Sum) string {
	if s.Hi == 0 {
		return strconv.FormatUint(s.Lo, 10)
	}
	n := new(big.Int).SetUint64(s.Hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(s.Lo)).String()
}

// Float returns a sum within the precision of a float64.
func Float(s rollup.Sum) float64 {
	return math.Ldexp(float64(s.Hi), 64) + float64(s.Lo)
}

// Compare is cmp.Compare of sums.
func Compare(a, b rollup.Sum) int {
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo))
}

// Share returns which part of the whole a part is, 0 of nothing.
func Share(part, whole rollup.Sum) float64 {
	if whole == (rollup.Sum{}) {
		return 0
	}
	return Float(part) / Float(whole)
}

// Ratio is Share, of counts.
func Ratio(part, whole uint64) float64 {
	return Share(rollup.Sum{Lo: part}, rollup.Sum{Lo: whole})
}
