// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
)

// Checks returns the rules as checks. A check fails if its rule is in failOn and
// has a finding or did not run, or if failOn has Fault and the rule found one.
func (r *Report) Checks(failOn []string) []output.Check {
	all := make([]output.Check, 0, len(rules))
	for _, name := range RuleNames() {
		c := output.Check{Name: name}
		for _, f := range r.Findings {
			if f.Rule == name {
				c.Failed = c.Failed || f.Severity == Fault && slices.Contains(failOn, Fault)
				c.Texts = append(c.Texts, strings.TrimSuffix(f.Text+" "+f.Command, " "))
			}
		}
		for _, n := range r.NotRun() {
			if slices.Contains(n.Rules, name) {
				c.Texts = append(c.Texts, "This rule did not run, or only in part, as "+n.Reason+".")
			}
		}
		c.Failed = c.Failed || len(c.Texts) > 0 && slices.Contains(failOn, name)
		all = append(all, c)
	}
	return all
}
