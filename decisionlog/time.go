// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"encoding/binary"
	"time"
)

// clock parses times. Most are in the same minute as the time before.
type clock struct {
	minute [2]uint64 // as it is written, without its last colon
	start  int64     // when it starts, in ns since 1970
	set    bool
}

// parse is parseTime.
func (c *clock) parse(s []byte) (ns int64, ok bool) {
	const length = len("2006-01-02T15:04:")
	if len(s) > length+2 && c.set && minuteOf(s) == c.minute && s[length-1] == ':' && s[len(s)-1] == 'Z' {
		second := twoDigits(s[length:])
		fraction, ok := parseFraction(s[length+2 : len(s)-1])
		if ok && second >= 0 && second <= 59 {
			return c.start + int64(second)*1e9 + fraction, true
		}
	}
	if ns, ok = parseUTC(s); ok {
		const minute = 60e9
		c.minute, c.start, c.set = minuteOf(s), ns-ns%minute, true
		return ns, true
	}
	return parseTime(s)
}

func minuteOf(s []byte) [2]uint64 {
	return [2]uint64{binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])}
}

// parseTime parses a time of RFC 3339 with any fraction, in ns since 1970. It
// fails if the time is invalid or outside of the range of int64.
func parseTime(s []byte) (ns int64, ok bool) {
	if ns, ok := parseUTC(s); ok {
		return ns, true
	}
	t, err := time.Parse(time.RFC3339, string(s))
	if err != nil || t.Year() < 1678 || t.Year() > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}

// parseUTC is parseTime for what OPA writes: the years 1970 to 2199 in UTC,
// with at most nine digits of a fraction.
func parseUTC(s []byte) (ns int64, ok bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[len(s)-1] != 'Z' {
		return 0, false
	}
	century, year2 := twoDigits(s[0:]), twoDigits(s[2:])
	month, day := twoDigits(s[5:]), twoDigits(s[8:])
	hour, minute, second := twoDigits(s[11:]), twoDigits(s[14:]), twoDigits(s[17:])
	year := century*100 + year2
	if century < 0 || year2 < 0 || year < 1970 || year > 2199 || month < 1 || month > 12 || day < 1 || day > 28 && day > daysIn(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, false
	}
	fraction, ok := parseFraction(s[19 : len(s)-1])
	if !ok {
		return 0, false
	}
	// Years begin in March here, so that a leap day is a year's last.
	if month < 3 {
		year--
		month += 12
	}
	days := year*365 + year/4 - year/100 + year/400 + (month*153-457)/5 + day - 719469
	return (int64(days)*86400+int64(hour*3600+minute*60+second))*1e9 + fraction, true
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
	if len(s) == 10 { // most times
		n, ns := eightDigits(binary.LittleEndian.Uint64(s[1:]))
		return ns*10 + int64(s[9]-'0'), n == 8 && isDigit(s[9])
	}
	ns, end := digits(s, 1)
	return ns * powers[9-(len(s)-1)], end == len(s)
}

// twoDigits returns a number of two digits. If they are not digits, it returns
// a number below -1000.
func twoDigits(s []byte) int {
	if !isDigit(s[0]) || !isDigit(s[1]) {
		return -1 << 20
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
