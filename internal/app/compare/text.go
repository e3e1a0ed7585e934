// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// signed returns a difference in ns for people to read.
func signed(ns int64) string {
	switch {
	case ns < 0:
		return "-" + text.Duration(-float64(ns))
	case ns > 0:
		return "+" + text.Duration(float64(ns))
	}
	return "0"
}

// percent returns a relative change in percent, without the sign %.
func percent(relative float64) string {
	p, decimals := relative*100, 1
	if math.Abs(p) >= 99.95 {
		decimals = 0
	}
	return fmt.Sprintf("%+.*f", decimals, rounded(p, decimals))
}

// rounded returns f rounded to a number of decimals, and 0 instead of −0.
func rounded(f float64, decimals int) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	return f + 0
}

// text returns a change for people to read, with its interval. It leaves the
// interval out if there is no difference and always is false.
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

// count returns the number of rows with a verdict.
func (c *Comparison) count(v Verdict) (n int) {
	for _, r := range c.Rows {
		if r.Verdict == v {
			n++
		}
	}
	return n
}

// summary returns the number of rows of each verdict.
func (c *Comparison) summary() string {
	if len(c.Rows) == 0 {
		return "The two sides have no stage of a group in common."
	}
	var parts []string
	for _, v := range verdicts {
		if n := c.count(v); n > 0 {
			parts = append(parts, text.Count(n)+" "+string(v))
		}
	}
	return text.Plural(len(c.Rows), "row") + ": " + strings.Join(parts, ", ")
}

// claim returns what the intervals claim, and how to see more.
func (c *Comparison) claim() string {
	claim := fmt.Sprintf("In brackets: %s. On average, at most %.0f %% of the changes are noise.",
		text.Plural(c.Intervals, "interval"), 100*(1-confidence))
	if few := c.count(TooLittle); few > 0 {
		claim += " Not judged, for lack of data: " + text.Plural(few, "row") +
			". Compare longer logs, or look closer at fewer rows: see --path and --stage."
	}
	return claim
}

// A remark is text about a group, a stage or a threshold.
type remark struct {
	names []string // of a group and a stage, or a threshold
	text  string
}

// remarks returns a list of the groups and stages that only one report has, and
// a list of thresholds. It returns only the first top groups and stages, or all
// if top is 0. It leaves out empty lists.
func (c *Comparison) remarks(top int) (lists [][]remark) {
	var only, thresholds []remark
	for i, o := range c.Only {
		if top > 0 && i == top {
			only = append(only, remark{nil, "and " + text.Count(len(c.Only)-i) + " more on one side only: see --top"})
			break
		}
		side, n := "before", o.Before
		if o.After > 0 {
			side, n = "after", o.After
		}
		names, what := []string{o.Key, o.Stage}, "duration"
		if o.Stage == "" {
			names, what = names[:1], "decision"
		}
		only = append(only, remark{names, fmt.Sprintf("only %s: %s", side, text.Plural(n, what))})
	}
	for _, t := range c.Thresholds {
		thresholds = append(thresholds, remark{[]string{t.String()}, c.verdict(t)})
	}
	return slices.DeleteFunc([][]remark{only, thresholds}, func(list []remark) bool { return len(list) == 0 })
}

// verdict says whether a threshold is exceeded.
func (c *Comparison) verdict(t Threshold) string {
	exceeded, judged := c.Exceed(t)
	switch {
	case judged == 0:
		return "no row with enough data"
	case len(exceeded) == 0:
		return "not exceeded in " + text.Plural(judged, "row")
	}
	return fmt.Sprintf("exceeded in %s of %s", text.Count(len(exceeded)), text.Plural(judged, "row"))
}
