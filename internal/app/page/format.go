// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/text"
)

// How many columns of a text are shown.
const (
	keyLength     = 120   // a path, a label, an id, a file's name
	labelLength   = 40    // a name inside a plot
	findingLength = 2_000 // a finding
)

// keyText is what stands for a name that comes from a log.
func keyText(s string) string { return cmp.Or(text.Fit(s, keyLength), text.Empty) }

// labelText is what stands for it where there is little room.
func labelText(s string) string { return cmp.Or(text.Fit(s, labelLength), text.Empty) }

// space is between a number and its unit, and between a date and the time of
// day: no line is broken there.
const space = "\u00a0"

// unbroken makes what is written of a number or a time a single word, also of
// "<0.1 %", which would be hard to read without a space.
var unbroken = strings.NewReplacer(" ", space, "<", "<"+space, ">", ">"+space)

func duration(ns float64) string             { return unbroken.Replace(text.LongDuration(ns)) }
func percent(part float64) string            { return unbroken.Replace(text.Percent(part)) }
func size(bytes int64) string                { return unbroken.Replace(text.Bytes(bytes)) }
func instant(ns int64, layout string) string { return unbroken.Replace(text.Time(ns, layout)) }

// interval formats the width of a slice of time, in ns, without rounding it if
// it is a whole number of seconds.
func interval(ns int64) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := ns / int64(u.unit); n > 0 && ns%int64(u.unit) == 0 {
			return strconv.FormatInt(n, 10) + space + u.name
		}
	}
	return duration(float64(ns))
}

// threeDigitsAtMost formats a number with three digits, without zeros at its
// end.
func threeDigitsAtMost(v float64) string {
	if v >= 1000 {
		return text.Count(uint64(min(math.Round(v), 1e18)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
