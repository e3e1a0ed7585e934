// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	r := &Report{Findings: []Finding{{Rule: "errors_rose", Text: "a"}, {Rule: "errors_rose", Text: "b"}, {Rule: "rate_fell", Text: "c"}}, By: "hour", Total: Group{Decisions: 1}}
	got := map[string]string{}
	for _, c := range r.Checks([]string{"errors_rose", "path_undefined"}) {
		if len(c.Texts) > 0 || c.Failed {
			got[c.Name] = c.Texts[0]
			if c.Failed != (c.Name == "errors_rose" || c.Name == "path_undefined") {
				t.Errorf("%s: failed %t", c.Name, c.Failed)
			}
		}
	}
	names := RuleNames()
	if n := len(r.Checks(nil)); n != len(names) || !slices.Contains(names, "latency_rose") || got["rate_fell"] != "c" || got["errors_rose"] != "a" ||
		got["path_undefined"] != "This rule did not run, or only in part, as the groups are not paths." {
		t.Errorf("%d checks of %d rules, and found %v", n, len(names), got)
	}
}
