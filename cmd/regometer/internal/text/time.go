// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"time"

	"github.com/regometer/regometer/internal/logread"
)

// Duration writes ns, 0 or more, with three significant digits, in ns, µs, ms
// or s.
func Duration(ns float64) string {
	if ns < 999.5 {
		return strconv.FormatFloat(ns, 'f', 0, 64) + " ns"
	}
	return scaled(ns/1000, []string{" µs", " ms", " s"})
}

// LongDuration is Duration for long times. It writes what rounds to 120 s or
// more in minutes, to 120 min or more in hours, and to 48 h or more in days.
func LongDuration(ns float64) string {
	switch minutes := ns / 60e9; {
	case ns < 119.5e9:
		return Duration(ns)
	case minutes < 119.5:
		return significant(minutes) + " min"
	case minutes < 47.95*60:
		return significant(minutes/60) + " h"
	default:
		return significant(minutes/60/24) + " d"
	}
}

// The layouts of times for people.
const (
	ToTheSecond = "2006-01-02 15:04:05"
	ToTheMilli  = "2006-01-02 15:04:05.000"
)

// Time writes a time in UTC, with a layout of package time. ns is the time
// since 1970, or logread.NoTime.
func Time(ns int64, layout string) string {
	if ns == logread.NoTime {
		return None
	}
	return time.Unix(0, ns).UTC().Format(layout)
}
