// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"strings"
	"time"
)

// parseTime parses a time of RFC 3339 with any fraction, in ns since 1970. It
// also knows a blank instead of T and before an offset, the offsets +00 and
// +0000, " UTC" at the end, no zone, which stands for UTC, epoch's numbers, and
// Jan 2, 2026 @ 03:04:05.000.
// It fails if the time is invalid or outside of the range of int64.
func parseTime(s []byte) (ns int64, hasZone, ok bool) {
	if isScalar(s) {
		ns, ok = epoch(s)
		return ns, true, ok
	}
	text, isUTC := strings.CutSuffix(string(s), " UTC")
	const day = len("2006-01-02")
	if len(text) > day && text[day] == ' ' {
		text = text[:day] + "T" + text[day+1:]
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			ns, ok = nanoseconds(t)
			return ns, isUTC || strings.Contains(layout, "Z07"), ok
		}
	}
	return 0, false, false
}

// nanoseconds returns a time in ns since 1970, and whether an int64 can have it.
func nanoseconds(t time.Time) (ns int64, ok bool) {
	return t.UnixNano(), t.Year() >= 1678 && t.Year() <= 2261
}

// second is the last second in UTC in which there was a time. Many times of a log
// have the second of the one before.
type second struct {
	text [len("2006-01-02T15:04:05.")]byte
	ns   int64 // its beginning
}

// parse parses what time.Time.UnmarshalText does.
func (x *second) parse(s []byte) (ns int64, ok bool) {
	const begin, longest = len(x.text), 9 // of the fraction
	last := len(s) - 1
	isUTC := last > begin && last <= begin+longest && s[begin-1] == '.' && s[last] == 'Z'
	if isUTC && string(s[:begin]) == string(x.text[:]) {
		if fraction, end := digits(s, begin); end == last {
			for range begin + longest - last {
				fraction *= 10
			}
			return x.ns + fraction, true
		}
	}
	var t time.Time
	if t.UnmarshalText(s) != nil {
		return 0, false
	}
	if ns, ok = nanoseconds(t); ok && isUTC {
		copy(x.text[:], s)
		x.ns = ns - int64(t.Nanosecond())
	}
	return ns, ok
}

// timeLayouts are those that parseTime knows.
var timeLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05 Z07:00",
	"2006-01-02T15:04:05 Z0700", "2006-01-02T15:04:05 Z07", "Jan 2, 2006 @ 15:04:05.000",
}

// epoch returns the time of a number of seconds, milliseconds, microseconds or
// nanoseconds since 1970, in ns. The number's magnitude tells the unit, so times
// begin at 1973-03-03.
func epoch(number []byte) (ns int64, ok bool) {
	n, _, ok := decimal(number, 1)
	power := int64(1e9)
	for least := int64(1e11); n >= least && power > 1; least *= 1000 {
		power /= 1000
	}
	ns, _, fits := decimal(number, power)
	return ns, ok && fits && n >= 1e8 && time.Unix(0, ns).UTC().Year() <= 2261
}

// NoTime is the time of a decision for which a log has no valid time.
const NoTime = -1 << 63
