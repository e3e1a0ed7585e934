// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"

	"github.com/regometer/regometer/internal/app/checks"
	"github.com/regometer/regometer/internal/app/text"
)

// Checks returns the thresholds as checks, which fail if they are exceeded or
// cannot be judged. A last check has the rows that are slower.
func (c *Comparison) Checks() []checks.Check {
	var all []checks.Check
	for _, t := range c.Thresholds {
		rows, judged := c.Exceed(t)
		check := checks.Check{Name: t.String(), Failed: len(rows) > 0 || judged == 0}
		for _, r := range rows {
			check.Texts = append(check.Texts, describe(r, t.Quantile))
		}
		if judged == 0 {
			check.Texts = []string{c.verdict(t)}
		}
		all = append(all, check)
	}
	slower := checks.Check{Name: string(Slower)}
	for _, r := range c.Rows {
		for _, ch := range r.Changes {
			if ch.Verdict == Slower {
				slower.Texts = append(slower.Texts, describe(r, ch.Quantile))
			}
		}
	}
	return append(all, slower)
}

// describe returns a sentence about a quantile of a row.
func describe(r Row, quantile float64) string {
	for _, ch := range r.Changes {
		if ch.Quantile == quantile {
			return fmt.Sprintf("%s, %s: %s went from %s to %s, by %s %%.", r.Key, r.Stage, name(quantile),
				text.Duration(ch.Before), text.Duration(ch.After), ch.text(true))
		}
	}
	return r.Key + ", " + r.Stage
}
