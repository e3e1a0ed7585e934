// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import "math"

// tail returns the probability that a variable of Student's t distribution with
// df > 0 degrees of freedom is above t ≥ 0. Its relative error is below 1e-9.
func tail(t, df float64) float64 {
	// The regularised incomplete beta function of x = df/(df+t²) with a = df/2
	// and b = ½ is the probability of both tails.
	a, b, t2 := df/2, 0.5, t*t
	if math.IsInf(t2, 1) {
		return 0
	}
	x, y := df/(df+t2), t2/(df+t2) // y = 1−x, without cancellation
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	front := math.Exp(lg(a+b) - lg(a) - lg(b) + a*math.Log(x) + b*math.Log(y))
	if x < (a+1)/(a+b+2) {
		return front * betaFraction(a, b, x) / a / 2
	}
	return (1 - front*betaFraction(b, a, y)/b) / 2
}

// betaFraction returns the continued fraction of the incomplete beta function,
// computed by Lentz's method, which converges fast for x < (a+1)/(a+b+2).
func betaFraction(a, b, x float64) float64 {
	c, d := 1.0, 1/(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 1000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		step := 1.0
		for _, n := range [2]float64{even, odd} {
			d = 1 / (1 + n*d)
			c = 1 + n/c
			step = c * d
			f *= step
		}
		if math.Abs(step-1) < 1e-14 {
			break
		}
	}
	return f
}
