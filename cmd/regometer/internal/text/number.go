// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "strconv"

// Count writes a number, 0 or more, with separators of thousands.
func Count[N int | int64 | uint64](n N) string {
	return thousands(strconv.FormatUint(uint64(n), 10))
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a number of things, such as "2 files".
func Plural[N int | int64 | uint64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// Percent writes a part of 1 with one decimal. Only 0 and 1 become "0 %" and
// "100 %".
func Percent(part float64) string {
	switch p := 100 * part; {
	case p == 0 || p == 100:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p < 0.1:
		return "<0.1 %"
	case p > 99.9 && p < 100:
		return ">99.9 %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

// Bytes writes a number of bytes, 0 or more, with three significant digits, in
// B, KB, MB, GB or TB. 1 KB is 1,000 B.
func Bytes[N int64 | uint64](n N) string {
	if n < 1000 {
		return strconv.FormatInt(int64(n), 10) + " B"
	}
	return scaled(float64(n)/1000, []string{" KB", " MB", " GB", " TB"})
}

// scaled writes a number with three significant digits, in the first unit in
// which it is below 1,000, or else in the last unit. Each unit is 1,000 times
// the one before.
func scaled(n float64, units []string) string {
	for ; n >= 999.5 && len(units) > 1; units = units[1:] {
		n /= 1000
	}
	return significant(n) + units[0]
}

// significant writes a number with three significant digits, or with all digits
// before the decimal point if there are more.
func significant(n float64) string {
	switch {
	case n < 9.995:
		return strconv.FormatFloat(n, 'f', 2, 64)
	case n < 99.95:
		return strconv.FormatFloat(n, 'f', 1, 64)
	default:
		return thousands(strconv.FormatFloat(n, 'f', 0, 64))
	}
}
