// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"slices"
	"strconv"
)

// Some systems write 64-bit integers as strings, or with a point or an exponent.
// MongoDB's extended JSON puts them into objects.

// unwrap returns the text of a number or a time: what a string means, also in
// {"$numberLong":…} and {"$date":…}. It returns other values as they are.
func unwrap(value []byte) []byte {
	for depth := 0; hasPrefix(value, `{`) && depth < 2; depth++ {
		eachField(value, func(name, inner []byte) {
			if hasPrefix(name, `"$number`) || hasPrefix(name, `"$date"`) {
				value = inner
			}
		})
	}
	if hasPrefix(value, `"`) {
		value, _ = unquote(value)
	}
	return value
}

// integer returns the value of a JSON number that is a 64-bit integer, such as
// 12, 12.0 or 1e3. With a point or an exponent it must be below 2^53, because
// beyond, it may have been rounded when it was written.
func integer(number []byte) (n int64, ok bool) {
	n, whole, ok := decimal(number, 0)
	isFloat := bytes.ContainsAny(number, ".eE")
	return n, ok && whole && (!isFloat || n < 1<<53 && n > -1<<53)
}

// decimal returns a JSON number times ten to the power of shift, without its
// fraction. whole reports whether the fraction is 0. ok is false if the text is
// no number, or the result is beyond 64 bits.
func decimal(number []byte, shift int) (n int64, whole, ok bool) {
	mantissa, exponent, err := number, int64(0), error(nil)
	if i := bytes.IndexAny(number, "eE"); i >= 0 {
		mantissa = number[:i]
		exponent, err = strconv.ParseInt(string(number[i+1:]), 10, 11) // which limits the digits that it adds
	}
	unsigned := bytes.TrimPrefix(mantissa, []byte{'-'})
	sign := string(mantissa[:len(mantissa)-len(unsigned)])
	before, after, _ := bytes.Cut(unsigned, []byte{'.'})
	point := max(0, len(before)+int(exponent)+shift)
	all := slices.Concat(before, after, bytes.Repeat([]byte{'0'}, max(0, point-len(before)-len(after))))
	n, tooLarge := strconv.ParseInt(sign+"0"+string(all[:point]), 10, 64)
	return n, len(bytes.Trim(all[point:], "0")) == 0, isScalar(number) && number[0] <= '9' && err == nil && tooLarge == nil
}
