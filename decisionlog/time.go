// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import "time"

// clock parses times. Most are in the same minute as the time before.
type clock struct {
	minute [16]byte // as it is written, without its last colon
	start  int64    // when it starts, in ns since 1970
	set    bool
}

// parse returns what parseTime returns.
func (c *clock) parse(s []byte) (ns int64, ok bool) {
	const length = len("2006-01-02T15:04:")
	inUTC := len(s) > length+2 && s[length-1] == ':' && s[len(s)-1] == 'Z'
	if inUTC && c.set && [16]byte(s) == c.minute {
		second, end := digitsAtEnd(s[:length+2], length)
		fraction, ok := parseFraction(s[length+2 : len(s)-1])
		if ok && end == length+2 && second <= 59 {
			return c.start + second*1e9 + fraction, true
		}
	}
	ns, ok = parseTime(s)
	if ok && inUTC {
		const minute = 60e9
		c.minute, c.start, c.set = [16]byte(s), ns-(ns%minute+minute)%minute, true
	}
	return ns, ok
}

// parseTime parses a time of RFC 3339 with any fraction, in ns since 1970. It
// fails if the time is invalid or outside of the range of int64.
func parseTime(s []byte) (ns int64, ok bool) {
	var t time.Time
	if t.UnmarshalText(s) != nil || t.Year() < 1678 || t.Year() > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}

// parseFraction returns the fraction of a second in ns: nothing, or a point and
// at most nine digits.
func parseFraction(s []byte) (ns int64, ok bool) {
	if len(s) == 0 {
		return 0, true
	}
	if s[0] != '.' || len(s) == 1 || len(s) > 10 {
		return 0, false
	}
	ns, end := digits(s, 1)
	return ns * powers[9-(len(s)-1)], end == len(s)
}
