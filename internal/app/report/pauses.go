// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file finds pauses: times without decisions that are much longer than
// all others.

import (
	"fmt"
	"slices"
	"time"

	"github.com/regometer/regometer/internal/app/text"
)

const (
	pauses   = 3               // at most
	gapLeast = 5 * time.Minute // without a decision
	gapMost  = 6 * time.Hour
	gapTimes = 10 // the gap divided by the longest of the other gaps
)

// findPauses returns the indices of the decisions after the pauses.
func (s *scan) findPauses() []int {
	length := func(i int) int64 { return s.events[i].time - s.events[i-1].time }
	var longest []int // the longest one first
	for i := 1; i < len(s.events); i++ {
		at := len(longest)
		for at > 0 && length(i) > length(longest[at-1]) {
			at--
		}
		longest = slices.Insert(longest, at, i)
		longest = longest[:min(len(longest), pauses+1)]
	}
	for n := min(pauses, len(s.events)-1-scanLeast); n > 0; n-- {
		if l := length(longest[n-1]); l >= int64(gapLeast) && length(longest[0]) <= int64(gapMost) && l >= gapTimes*length(longest[n]) {
			slices.Sort(longest[:n])
			return longest[:n]
		}
	}
	return nil
}

// describePause returns the finding of a pause before event i.
func (s *scan) describePause(r *Report, i int) Finding {
	from, to := s.events[i-1].time, s.events[i].time
	f := Finding{Rule: "decisions_missing", Figures: map[string]float64{"seconds": float64(to-from) / 1e9}}
	f.setTimes(from, to)
	f.Text = fmt.Sprintf("From %s to %s UTC, for %s, there is no decision. No other pause is a tenth as long. "+
		"Find out whether OPA, its clients or the shipping of its log stopped.",
		at(from), at(to), text.LongDuration(float64(to-from)))
	r.suggest(&f, s.byServer(), nil, second(from), time.Time{})
	return f
}
