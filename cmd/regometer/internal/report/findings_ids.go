// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

func idsRepeated(r *Report) (f Finding) {
	in := &r.Inputs.Repeats
	n, total := in.Count, int64(r.Total.Decisions)
	if n == 0 {
		return f
	}
	f.Figures = map[string]float64{"decisions": float64(n), "without": float64(total - n)}
	f.Text = fmt.Sprintf("The %s include %s, with the id, time and path of another decision%s. Without the repeats there are %s. ",
		text.Plural(total, "decision"), in.about(text.Plural(n, "repeat")), f.setTimes(in.repeats.First, in.repeats.Last), map[bool]string{true: "about "}[in.Sample > 0]+text.Count(total-n))
	if in.missed > 0 {
		f.Text += fmt.Sprintf("%s were left out, but `--unique` remembers only %s decisions. Select fewer with `--since` and `--until`.",
			text.Plural(in.LeftOut, "other repeat"), text.Count(maxKeys))
	} else {
		f.Text += "To count each decision once, read all logs together with `--unique`. " +
			"Check whether two inputs hold the same decisions. OPA and log shippers send decisions again if they get no answer."
	}
	return f
}

func idsReused(r *Report) (f Finding) {
	in := &r.Inputs.Repeats
	if in.Reused == 0 {
		return f
	}
	f.Figures = map[string]float64{"decisions": float64(in.Reused)}
	f.Text = fmt.Sprintf("The %s include %s with the id of another decision, but another time or path%s. "+
		"All count, because Regometer cannot tell whether they are repeats. OPA gives each decision an id of its own. "+
		"Find out what sets the ids, or what changes times or paths between OPA and this log.",
		text.Plural(r.Total.Decisions, "decision"), in.about(text.Count(in.Reused)), f.setTimes(in.reused.First, in.reused.Last))
	return f
}

// about marks a number that is an estimate.
func (r *Repeats) about(number string) string {
	if r.Sample == 0 {
		return number
	}
	return fmt.Sprintf("about %s (estimated from a sample of %s)", number, text.Count(r.Sample))
}
