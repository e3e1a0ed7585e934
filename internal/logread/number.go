// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"math/big"
)

// Some systems write 64-bit integers as strings, or with a point or an exponent.
// MongoDB's extended JSON puts them into objects.

// unwrap returns the text of a number or a time: what a string means, also in
// {"$numberLong":…} and {"$date":…}. It returns other values as they are.
func unwrap(value []byte) []byte {
	for depth := 0; hasPrefix(value, `{`) && depth < 2; depth++ {
		each(value, func(name, inner []byte) {
			if hasPrefix(name, `"$number`) || hasPrefix(name, `"$date"`) {
				value = inner
			}
		})
	}
	return Meaning(value)
}

// integer returns the value of a JSON number that is a 64-bit integer, such as
// 12, 12.0 or 1e3. With a point or an exponent it must be below 2^53, because
// beyond, it may have been rounded when it was written.
func integer(number []byte) (n int64, ok bool) {
	if n, end := digits(number, 0); end == len(number) && isScalar(number) { // most often
		return n, true
	}
	n, whole, ok := decimal(number, 1)
	isFloat := bytes.ContainsAny(number, ".eE")
	return n, ok && whole && (!isFloat || n < 1<<53 && n > -1<<53)
}

// decimal returns a JSON number times a power of ten, without its fraction.
// whole reports whether the fraction is 0. ok is false if the text is no number,
// or the result is beyond 64 bits.
func decimal(number []byte, power int64) (n int64, whole, ok bool) {
	const longest = 100 // more digits would take long
	if i := bytes.IndexAny(number, "eE"); !isScalar(number) || number[0] > '9' || len(number) > longest || i >= 0 && len(number)-i > len("e-99") {
		return 0, false, false
	}
	x, _ := new(big.Rat).SetString(string(number))
	x.Mul(x, new(big.Rat).SetInt64(power))
	all := new(big.Int).Quo(x.Num(), x.Denom())
	return all.Int64(), x.IsInt(), all.IsInt64()
}
