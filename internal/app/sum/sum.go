// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package sum compares and divides sums of 128 bits. Its functions may
// be called at the same time.
package sum

import (
	"cmp"
	"math"

	"github.com/regometer/regometer/internal/groupby"
)

// Float returns a sum within the precision of a float64.
func Float(s groupby.Sum) float64 {
	return math.Ldexp(float64(s.Hi), 64) + float64(s.Lo)
}

// Compare is cmp.Compare of sums.
func Compare(a, b groupby.Sum) int {
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo))
}

// Share returns part divided by whole, or 0 if the whole is 0.
func Share(part, whole groupby.Sum) float64 {
	if whole == (groupby.Sum{}) {
		return 0
	}
	return Float(part) / Float(whole)
}

// Ratio is Share for counts.
func Ratio(part, whole uint64) float64 {
	return Share(groupby.Sum{Lo: part}, groupby.Sum{Lo: whole})
}
