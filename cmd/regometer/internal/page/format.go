// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// The limits of the widths of texts.
const (
	keyLength     = 120   // of a path, a label, an id or a file's name
	labelLength   = 40    // of a name inside a chart
	findingLength = 2_000 // of a finding
)

// keyText shows a name from a log, and labelText shows it where there is little
// room.
func keyText(s string) string   { return cmp.Or(text.Fit(s, keyLength), text.Empty) }
func labelText(s string) string { return cmp.Or(text.Fit(s, labelLength), text.Empty) }

// space is between a number and its unit, and between a date and the time of
// day, where no line may break.
const space = "\u00a0"

// unbroken makes the text of a number or a time a single word. "<0.1 %" gets
// another space, so that it can be read easily.
var unbroken = strings.NewReplacer(" ", space, "<", "<"+space, ">", ">"+space)

// sliceWidth writes the width of slices of time: 90 s.
func sliceWidth(ns int64) string {
	return strings.NewReplacer(".00"+space, space, ".0"+space, space).Replace(duration(float64(ns)))
}

func duration(ns float64) string             { return unbroken.Replace(text.LongDuration(ns)) }
func percent(part float64) string            { return unbroken.Replace(text.Percent(part)) }
func size(bytes int64) string                { return unbroken.Replace(text.Bytes(bytes)) }
func instant(ns int64, layout string) string { return unbroken.Replace(text.Time(ns, layout)) }

// threeDigitsAtMost formats a number with three digits, without zeros at its
// end.
func threeDigitsAtMost(v float64) string {
	if v >= 1000 {
		return text.Count(uint64(min(math.Round(v), 1e18)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
