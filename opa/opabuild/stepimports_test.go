// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"testing"
	"testing/fstest"
)

// Imports come into files of any form.
func TestStepImports(t *testing.T) {
	for _, c := range []struct{ before, want string }{
		{"package p\n", "package p\n\nimport (\n\t\"os\"\n)\n\nvar a = os.Args\n"},
		{"package p // x\n\nfunc f() {}\n", "package p\n\nimport (\n\t\"os\"\n) // x\n\nfunc f() {}\n\nvar a = os.Args\n"},
		{"package p\n\nimport \"fmt\" // x\n\nvar _ = fmt.Sprint\n", "package p\n\nimport (\n\t\"fmt\" // x\n\t\"os\"\n)\n\nvar _ = fmt.Sprint\n\nvar a = os.Args\n"},
		{"package p\n\nimport _ \"embed\"\nimport _ \"example.com/x\"\n", "package p\n\nimport (\n\t_ \"embed\"\n\t\"os\"\n)\nimport _ \"example.com/x\"\n\nvar a = os.Args\n"},
		{"package p\n\nimport (\n\t\"example.com/x\"\n)\n\nvar _ = x.Y\n", "package p\n\nimport (\n\t\"os\"\n\n\t\"example.com/x\"\n)\n\nvar _ = x.Y\n\nvar a = os.Args\n"},
		{"package p\n\nimport \"os\"\n\nvar b = os.Args\n", "package p\n\nimport \"os\"\n\nvar b = os.Args\n\nvar a = os.Args\n"},
	} {
		steps, err := loadSteps(fstest.MapFS{
			"01-x/text.md": {Data: []byte("x")}, "01-x/changes": {Data: []byte("add p.go a\n")},
			"01-x/p.go": {Data: []byte(ourHeaderText + "package p\n\nimport \"os\"\n\nvar a = os.Args\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		after, err := applied(fstest.MapFS{"p.go": {Data: []byte(c.before)}}, steps)
		if err != nil {
			t.Errorf("%q: %v", c.before, err)
		} else if got := string(after[0]["p.go"]); got != c.want {
			t.Errorf("%q became\n%s\nwant\n%s", c.before, got, c.want)
		}
	}
}
