// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// signed writes a difference of ns.
func signed(ns int64) string {
	switch {
	case ns < 0:
		return "-" + text.Duration(-float64(ns))
	case ns > 0:
		return "+" + text.Duration(float64(ns))
	}
	return "0"
}

// percent writes a relative change, as a number of percent without its sign %.
func percent(relative float64) string {
	p, decimals := relative*100, 1
	if math.Abs(p) >= 99.95 {
		decimals = 0
	}
	return fmt.Sprintf("%+.*f", decimals, rounded(p, decimals))
}

// rounded returns f as it is written with so many decimals; never −0.
func rounded(f float64, decimals int) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	return f + 0
}

// text writes a change for people: by how much, where it is one, and its
// interval, if that is wanted for what is no difference too.
func (c Change) text(always bool) string {
	high := percent(c.High)
	if math.IsInf(c.High, 1) {
		high = "any"
	}
	interval := fmt.Sprintf(" (%s to %s)", percent(c.Low), high)
	switch {
	case c.Verdict == TooLittle, c.Verdict == NoDifference && !always:
		return string(c.Verdict)
	case c.Verdict == NoDifference:
		return string(c.Verdict) + interval
	}
	return percent(c.Relative) + " %" + interval
}

// summary tells how many rows there are of each verdict.
func (c *Comparison) summary() string {
	n := map[Verdict]int{}
	for _, r := range c.Rows {
		n[r.Verdict]++
	}
	if len(c.Rows) == 0 {
		return "There is nothing that is in both."
	}
	var parts []string
	for _, v := range verdicts {
		if n[v] > 0 {
			parts = append(parts, text.Count(n[v])+" "+string(v))
		}
	}
	return text.Plural(len(c.Rows), "row") + ": " + strings.Join(parts, ", ")
}

// claim tells what the intervals claim.
func (c *Comparison) claim() string {
	return fmt.Sprintf("In brackets: %s, %g %% confidence in all together.", text.Plural(c.Intervals, "interval"), c.Confidence*100)
}

// counts tells how many decisions of a group, or durations of a stage, only one
// side has.
func (o Only) counts() string {
	side, n, what := "before", o.Before, "duration"
	if o.After > 0 {
		side, n = "after", o.After
	}
	if o.Stage == "" {
		what = "decision"
	}
	return fmt.Sprintf("only %s: %s", side, text.Plural(n, what))
}

// verdict tells whether a threshold is exceeded.
func (c *Comparison) verdict(t Threshold) string {
	exceeded, judged := len(c.Exceeds(t)), c.Judged(t)
	switch {
	case judged == 0:
		return "no row with enough data"
	case exceeded == 0:
		return "not exceeded in " + text.Plural(judged, "row")
	}
	return fmt.Sprintf("exceeded in %s of %s", text.Count(exceeded), text.Plural(judged, "row"))
}

// top returns the first rows, all if n is 0.
func (c *Comparison) top(n int) []Row {
	if n <= 0 || n > len(c.Rows) {
		n = len(c.Rows)
	}
	return c.Rows[:n]
}
