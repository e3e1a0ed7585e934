// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// readRules returns the groups of a file of rules.
func readRules(t *testing.T, file string) []rulefmt.RuleGroup {
	t.Helper()
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	if errs != nil {
		t.Fatal(errs)
	}
	return groups.Groups
}

// alertNames returns the names of the alerts in their order.
func alertNames(t *testing.T) (names []string) {
	t.Helper()
	for _, g := range readRules(t, alertRules) {
		for _, r := range g.Rules {
			names = append(names, r.Alert)
		}
	}
	return names
}

// TestRunbook: docs/alerts.md has a section for each alert, in the same order,
// and no others; the alert refers to it, says how bad it is, and has no number
// of which the m of milli could be taken for millions.
func TestRunbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, match := range regexp.MustCompile(`(?m)^## (OPA\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, match[1])
	}
	if names := alertNames(t); !slices.Equal(sections, names) {
		t.Errorf("docs/alerts.md has the sections\n%v, the alerts are\n%v", sections, names)
	}
	for _, g := range readRules(t, alertRules) {
		for _, r := range g.Rules {
			if want := "https://github.com/regometer/regometer/blob/main/docs/alerts.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s: severity is %q", r.Alert, r.Labels["severity"])
			}
			if r.For == 0 {
				t.Errorf("%s fires at once", r.Alert)
			}
			for _, key := range []string{"summary", "description"} {
				text := r.Annotations[key]
				if text == "" || regexp.MustCompile(`humanize\b|humanizeDuration`).MatchString(text) {
					t.Errorf("%s: %s is %q", r.Alert, key, text)
				}
			}
			section := string(text)[strings.Index(string(text), "\n## "+r.Alert+"\n")+1:]
			if end := strings.Index(section[1:], "\n## "); end > 0 {
				section = section[:end]
			}
			for _, part := range []string{"**What it means.** ", "**What to look at.** ", "**What to do.** "} {
				if !strings.Contains(section, part) {
					t.Errorf("%s: docs/alerts.md does not say %q", r.Alert, part)
				}
			}
			if !strings.Contains(section, "_"+r.Labels["severity"]+",") {
				t.Errorf("%s: docs/alerts.md does not say that it is %s", r.Alert, r.Labels["severity"])
			}
		}
	}
}

// TestPanelsInRunbook: each panel that the runbook or an alert names is there.
func TestPanelsInRunbook(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, p := range readDashboard(t, filepath.Join(root, "dashboards", "opa-decisions.json")).Panels {
		titles[p.Title] = true
	}
	text := ""
	for _, file := range []string{filepath.Join(root, "docs", "alerts.md"), alertRules} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	found := 0
	for _, match := range regexp.MustCompile(`(?s)panels?\s+((?:,?\s*(?:and\s+)?(?:says which stage it is, )?"[^"]+")+)`).FindAllStringSubmatch(text, -1) {
		for _, title := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(match[1], -1) {
			found++
			if name := strings.Join(strings.Fields(title[1]), " "); !titles[name] {
				t.Errorf("there is no panel %q", name)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d panels are named", found)
	}
}

// TestRecordedNames: the rules over native and over classic histograms record
// the same names, by the same expressions unless there is a histogram in them.
func TestRecordedNames(t *testing.T) {
	t.Parallel()
	native, classic := readRules(t, nativeRules), readRules(t, classicRules)
	if len(native) != len(classic) {
		t.Fatalf("%d and %d groups", len(native), len(classic))
	}
	for i := range native {
		a, b := native[i], classic[i]
		if a.Name != b.Name || len(a.Rules) != len(b.Rules) {
			t.Fatalf("the groups %s and %s have %d and %d rules", a.Name, b.Name, len(a.Rules), len(b.Rules))
		}
		for j := range a.Rules {
			a, b := a.Rules[j], b.Rules[j]
			if a.Record != b.Record {
				t.Errorf("the rules record %s and %s", a.Record, b.Record)
			}
			if histogram := strings.Contains(b.Expr, "_duration_seconds") && strings.Contains(b.Expr, "rate(opa_decision"); (a.Expr != b.Expr) != histogram {
				t.Errorf("%s:\n%s\n%s", a.Record, a.Expr, b.Expr)
			}
		}
	}
}
