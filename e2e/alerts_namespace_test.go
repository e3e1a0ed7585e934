// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesOfAnotherNamespace: the command in dashboards/README.md makes rules
// for another namespace, of which each alert fires on its fault as before.
func TestRulesOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs(filepath.Join(root, "dashboards"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllSubmatch(readme, -1)
	if len(blocks) != 1 {
		t.Fatalf("dashboards/README.md has %d commands", len(blocks))
	}
	cmd := exec.Command("sh", "-ec", string(blocks[0][1]))
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, name := range []string{filepath.Base(nativeRules), filepath.Base(classicRules), filepath.Base(alertRules)} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "opa_decision") || !strings.Contains(string(text), "acme_decision") {
			t.Errorf("%s is not changed throughout", name)
		}
	}
	test := ruleTests(t)["faults.yaml"]
	for i, file := range test.RuleFiles {
		test.RuleFiles[i] = filepath.Join(dir, filepath.Base(file))
	}
	for i := range test.Tests {
		for j := range test.Tests[i].InputSeries {
			s := &test.Tests[i].InputSeries[j]
			s.Series = strings.ReplaceAll(s.Series, "opa_decision", "acme_decision")
		}
	}
	test.run(t)
}
