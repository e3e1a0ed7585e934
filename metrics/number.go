// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"strconv"
)

// appendFloat appends v as encoding/json writes it: the shortest decimal that
// parses to v. v must be finite.
func appendFloat(dst []byte, v float64) []byte {
	// A number with at most three decimals and fifteen digits is written as an
	// integer, which is much faster. This text is the shortest one, because
	// different decimals of up to fifteen digits are different float64s.
	if thousands := math.Abs(v) * 1000; thousands < 1e15 {
		if n := uint64(thousands + 0.5); float64(n)/1000 == math.Abs(v) {
			if math.Signbit(v) {
				dst = append(dst, '-')
			}
			dst = strconv.AppendUint(dst, n/1000, 10)
			if d := n % 1000; d != 0 {
				dst = append(dst, '.', byte('0'+d/100), byte('0'+d/10%10), byte('0'+d%10))
				for dst[len(dst)-1] == '0' {
					dst = dst[:len(dst)-1]
				}
			}
			return dst
		}
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, v, format, -1, 64)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 to e-9
		dst = dst[:n-1]
	}
	return dst
}
