// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readRules returns the groups of a file of rules.
func readRules(t *testing.T, file string) []rulefmt.RuleGroup {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, promqlParser, promslog.NewNopLogger())
	require.Empty(t, errs)
	return groups.Groups
}

// alerts returns the alerts in their order.
func alerts(t *testing.T) (all []rulefmt.Rule) {
	for _, g := range readRules(t, alertRules) {
		all = append(all, g.Rules...)
	}
	return all
}

// TestRules lets promtool check the rules and run dashboards/tests, where each
// alert fires on its fault, with the expected text, and on nothing else. The
// rules are over native and over classic histograms. With -short, it leaves out
// the classic ones, and the faults that take days.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "--lint-fatal", nativeRules, classicRules, alertRules)
	for _, recording := range long([]string{"recording-rules.yaml", "recording-rules-classic.yaml"}, []string{"recording-rules.yaml"}) {
		t.Run(recording, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(root+"/dashboards")))
			require.NoError(t, os.Rename(filepath.Join(dir, recording), filepath.Join(dir, "recording-rules.yaml")))
			tests, err := filepath.Glob(dir + "/tests/" + long("*", "faults") + ".yaml")
			require.NoError(t, err)
			promtool(t, append([]string{"test", "rules"}, tests...)...)
		})
	}
}

// TestNamespace: the command in dashboards/README.md changes all rules to
// another namespace.
func TestNamespace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(root+"/dashboards")))
	run(t, dir, nil, "sh", "-ec", blocks(t, "../dashboards/README.md")[0].text)
	for _, rules := range []string{nativeRules, classicRules, alertRules} {
		file := filepath.Join(dir, filepath.Base(rules))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotRegexp(t, "opa_(decision|policy_info)", string(text))
		assert.Contains(t, string(text), "acme_decision")
		promtool(t, "check", "rules", file)
	}
}

// TestRunbook: each alert has a section in docs/alerts.md, to which it refers,
// and a test in dashboards/tests in which it fires.
func TestRunbook(t *testing.T) {
	t.Parallel()
	tests := read(t, "dashboards/tests/faults.yaml") + read(t, "dashboards/tests/unusual.yaml")
	var sections, names []string
	for _, match := range regexp.MustCompile(`(?m)^## (OPA\w+)$`).FindAllStringSubmatch(read(t, "docs/alerts.md"), -1) {
		sections = append(sections, match[1])
	}
	for _, r := range alerts(t) {
		names = append(names, r.Alert)
		assert.Equal(t, "https://github.com/regometer/regometer/blob/main/docs/alerts.md#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
		assert.Contains(t, []string{"critical", "warning", "info"}, r.Labels["severity"], r.Alert)
		assert.Regexp(t, `- alertname: `+r.Alert+`\n +eval_time: .*\n +exp_alerts:( &\w+)?\n`, tests)
	}
	assert.Equal(t, names, sections)
}
