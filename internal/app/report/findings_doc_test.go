// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The document has the rules that there are, with their thresholds.
func TestRulesDocumented(t *testing.T) {
	const document = "../../../docs/report.md"
	var table strings.Builder
	table.WriteString("| rule | says | if |\n|---|---|---|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.Name, r.Help, r.Threshold)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- rules: written by go test ./internal/app/report -run TestRulesDocumented -update -->\n", "<!-- rules: end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the rules", document)
	}
	want := before + begin + table.String() + end + after
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s has not these rules; run: go test ./internal/app/report -run TestRulesDocumented -update\n%s", document, &table)
	}
}
