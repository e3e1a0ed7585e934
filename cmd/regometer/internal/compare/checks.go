// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

// Checks returns the thresholds as checks. A check fails if the whole interval of
// a change is beyond its threshold, or if no row has enough data: the stage or the
// key may be misspelt. The last check has all changes, and does not fail.
func (c *Comparison) Checks([]string) []output.Check {
	var all []output.Check
	rows := slices.Concat(c.Decisions, c.Stages)
	for _, t := range c.Thresholds {
		check, judged := output.Check{Name: t.Text}, false
		for _, r := range rows {
			for _, ch := range r.Changes {
				if ch.Name != t.Name || !t.applies(r.Stage, r.Key) || ch.Verdict == TooLittle && (ch.Low == -1 || math.IsInf(ch.High, 1)) {
					continue
				}
				judged = true
				if !t.Below && ch.Low > t.Limit || t.Below && ch.High < -t.Limit {
					check.Texts = append(check.Texts, describe(r, ch))
				}
			}
		}
		if !judged {
			check.Texts = []string{"no row has this name and enough data on both sides: check the name, or compare longer logs"}
		}
		check.Failed = check.Texts != nil
		all = append(all, check)
	}
	if c.Partly {
		all = append(all, output.Check{Name: report.PartlyRead, Failed: len(c.Thresholds) > 0, Texts: []string{partlyText}})
	}
	changes := output.Check{Name: "changes"}
	for _, r := range rows {
		for _, ch := range r.Changes {
			if ch.Verdict.rank() < Noise.rank() {
				changes.Texts = append(changes.Texts, describe(r, ch))
			}
		}
	}
	return append(all, changes)
}

// describe returns a sentence about a change of a row.
func describe(r Row, ch Change) string {
	names := r.Key
	if r.Stage != "" {
		names += ", " + r.Stage
	}
	change, interval := ch.text()
	return fmt.Sprintf("%s: %s went from %s to %s, by %s (%s).", names, ch.Name, ch.value(ch.Before), ch.value(ch.After), change, interval)
}
