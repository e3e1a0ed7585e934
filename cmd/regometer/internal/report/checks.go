// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
)

// NotRun has rules that did not run, or only in part, because the log or the
// grouping lacks what they need.
type NotRun struct {
	Reason string   `json:"reason"`
	Rules  []string `json:"rules"`
}

// NotRun returns the rules that did not run. Each has one reason.
func (r *Report) NotRun() (all []NotRun) {
	g, decisions := &r.Inputs.Gaps, int64(r.Total.Decisions)
	var known needs
	for _, lack := range []struct {
		is     bool
		needs  needs
		reason string
	}{
		{g.Time == decisions, needsTime, "no decision has a readable time"},
		{r.Inputs.wrapped(), needsTime, "more than 1 % of the times are those of wrappers"},
		{g.Duration == decisions, needsDuration, "no decision has a duration above 0"},
		{g.Result == decisions, needsResult, "all results are hidden"},
		{r.Inputs.Repeats.WithoutID >= decisions, needsID, "no decision has an id"},
		{r.By != "path", needsPaths, "the groups are not paths"},
	} {
		n := NotRun{Reason: lack.reason}
		for _, rule := range rules {
			if lack.is && decisions > 0 && rule.needs&lack.needs != 0 && rule.needs&known == 0 {
				n.Rules = append(n.Rules, rule.name)
			}
		}
		if n.Rules != nil {
			all, known = append(all, n), known|lack.needs
		}
	}
	return all
}

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
