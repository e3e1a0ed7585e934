// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

// Checks returns the thresholds as checks, which fail if they are exceeded or
// cannot be judged.
func (c *Comparison) Checks([]string) []output.Check {
	var all []output.Check
	for _, t := range c.Thresholds {
		rows, judged := c.Exceed(t)
		check := output.Check{Name: t.Text, Failed: len(rows) > 0 || judged == 0}
		for _, r := range rows {
			at := slices.IndexFunc(r.Changes, func(ch Change) bool { return ch.Name == t.Name })
			check.Texts = append(check.Texts, describe(r, r.Changes[at]))
		}
		if judged == 0 {
			check.Texts = []string{"no row has this name and enough data on both sides: check the name, or compare longer logs"}
		}
		all = append(all, check)
	}
	if c.Partly {
		all = append(all, output.Check{Name: report.PartlyRead, Failed: len(c.Thresholds) > 0, Texts: []string{partlyText}})
	}
	return all
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
