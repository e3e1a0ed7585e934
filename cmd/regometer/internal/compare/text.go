// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// impact returns the impact of a row for people to read.
func (r *Row) impact() string {
	switch n := r.Impact; {
	case r.Stage == "":
		return text.Count(uint64(n))
	case n < 0:
		return "-" + text.Duration(-n)
	case n > 0:
		return "+" + text.Duration(n)
	}
	return "0"
}

// percent returns a change in percent or percentage points, without the unit.
func percent(change float64) string {
	p, decimals := change*100, 1
	switch size := math.Abs(p); {
	case size >= 99.95:
		decimals = 0
	case size > 0 && size < 0.095:
		decimals = 3
	}
	return fmt.Sprintf("%+.*f", decimals, rounded(p, decimals))
}

// rounded returns f rounded to a number of decimals, and 0 instead of −0.
func rounded(f float64, decimals int) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	return f + 0
}

// value returns one side of a change for people to read.
func (c *Change) value(side float64) string {
	if c.share() {
		return text.Percent(side)
	}
	return text.Duration(side)
}

// text returns a change for people to read, and its interval, or "" if it has
// none.
func (c *Change) text() (change, interval string) {
	unit := " %"
	if c.share() {
		unit = " pp"
	}
	change, interval = percent(c.Change)+unit, percent(c.Low)+" to "+percent(c.High)
	judged := c.Verdict != Noise && c.Verdict != TooLittle
	if !judged {
		change = string(c.Verdict)
	}
	if math.IsInf(c.High, 1) {
		interval = percent(c.Low) + " to any"
	}
	if !judged && (c.Low == -1 || math.IsInf(c.High, 1)) {
		interval = ""
	}
	return change, interval
}

// count returns the numbers of rows by verdict.
func count(rows []Row) map[Verdict]int {
	n := map[Verdict]int{}
	for _, r := range rows {
		n[r.Verdict]++
	}
	return n
}

// lacking returns the number of rows with a change that there is too little
// data for.
func lacking(rows []Row) int {
	n := 0
	for _, r := range rows {
		if slices.ContainsFunc(r.Changes, func(ch Change) bool { return ch.Verdict == TooLittle }) {
			n++
		}
	}
	return n
}

// summary says whether decisions changed, and how many times of each verdict
// there are.
func (c *Comparison) summary() string {
	group := "group"
	if c.By == "path" {
		group = c.By
	}
	n, few := len(c.Decisions), lacking(c.Decisions)
	groups := text.Plural(n, group)
	var said string
	switch changed := count(c.Decisions)[Changed]; {
	case n == 0:
		said = "The two sides have no " + group + " in common."
	case changed > 0:
		said = fmt.Sprintf("Decisions changed in %s of %s.", text.Count(changed), groups)
	case few == n:
		said = "There is too little data to say whether decisions changed."
	case few > 0:
		said = fmt.Sprintf("No change of decisions found in %s of %s, and too little data in the rest.", text.Count(n-few), groups)
	case c.Partly:
		said = "No change of decisions found in " + groups + "."
	default:
		said = "The outcomes of decisions did not change beyond noise in " + groups + "."
	}
	for i, when := range []string{"before", "after"} {
		var keys, stages []string
		var decisions uint64
		for _, o := range c.Only {
			switch n := [...]uint64{o.Before, o.After}[i]; {
			case n == 0:
			case o.Stage != "":
				stages = append(stages, cmp.Or(o.Key, text.Empty)+" / "+o.Stage)
			default:
				keys, decisions = append(keys, o.Key), decisions+n
			}
		}
		if keys != nil {
			said += fmt.Sprintf(" Only %s: %s with %s: %s.", when, text.Plural(len(keys), group), text.Plural(decisions, "decision"), report.ListNames(keys))
		}
		if stages != nil {
			said += fmt.Sprintf(" Only %s: %s: %s.", when, text.Plural(len(stages), "stage"), report.ListNames(stages))
		}
	}
	if c.Partly {
		said += " " + partlyText
	}
	var times []string
	counts := count(c.Stages)
	for _, v := range verdicts {
		if n := counts[v]; n > 0 {
			times = append(times, text.Count(n)+" "+string(v))
		}
	}
	if times != nil {
		said += " Times of " + text.Plural(len(c.Stages), "stage") + ": " + strings.Join(times, ", ") + "."
	}
	return said
}

// claim returns what the intervals claim, and how to see more.
func (c *Comparison) claim() string {
	var claim string
	if c.Intervals > 0 {
		claim = fmt.Sprintf("There are %s. On average, at most %.0f %% of the changes are noise. ", text.Plural(c.Intervals, "interval"), 100*(1-confidence))
	}
	if few := lacking(c.Decisions) + lacking(c.Stages); few > 0 {
		claim += "There is too little data in " + text.Plural(few, "row") +
			". Compare longer logs, whose decisions have times, or look closer at fewer rows: see `--path`."
	}
	return strings.TrimSpace(claim)
}

const partlyText = "A side could be read only in part, and what is missing may be what differs."
