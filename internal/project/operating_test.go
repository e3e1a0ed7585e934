// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/rollup"
)

// TestStageTable: the document has the stages that rollup knows.
func TestStageTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| stage | in | measures |\n|---|---|---|\n")
	for _, s := range rollup.DefaultStages() {
		in := "nothing"
		if parents := strings.Fields(s.Parent); len(parents) > 0 {
			in = "`" + strings.Join(parents, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", s.Name, in, s.Help)
	}
	text, err := os.ReadFile(filepath.Join(root, operating))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), table.String()) {
		t.Errorf("%s does not end with this table:\n%s", operating, &table)
	}
}
