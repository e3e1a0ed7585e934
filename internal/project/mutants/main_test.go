// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const root = "../../.."

func TestUsage(t *testing.T) {
	for args, want := range map[string]int{"--help": 0, "": 2, "metrics": 2, "-tool x@v1": 2, "-tool x@v1 -files ( metrics": 2, "-nonsense": 2} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &stdout, &stderr); status != want || stderr.Len() == 0 {
			t.Errorf("%s: status %d, want %d\n%s", args, status, want, &stderr)
		}
	}
}

// What the tool prints is counted, and a survivor is known by its code.
func TestScore(t *testing.T) {
	t.Chdir(root)
	const output = `Starting...
      KILLED CONDITIONALS_NEGATION at main_test.go:1:2
   TIMED OUT INVERT_LOOPCTRL at main_test.go:1:2
       LIVED ARITHMETIC_BASE at main_test.go:4:1
       LIVED INVERT_LOGICAL at main_test.go:4:1
 NOT COVERED INVERT_LOGICAL at main_test.go:2:1
  NOT VIABLE INVERT_LOGICAL at main_test.go:2:1
Mutation testing completed in 3 seconds
`
	found, err := parseMutants("internal/project/mutants", strings.NewReader(output))
	if err != nil || len(found) != 6 {
		t.Fatalf("%v, %v", found, err)
	}
	s := rate("p", found, map[string]bool{"internal/project/mutants/main_test.go | INVERT_LOGICAL | package main": true})
	if percent, ok := s.percent(); s.killed != 1 || s.timedOut != 1 || s.lived != 2 || s.uncovered != 1 || percent != 50 || !ok {
		t.Errorf("%+v, %v %%", s, percent)
	}
	if len(s.unexplained) != 1 || s.unexplained[0].String() != "internal/project/mutants/main_test.go:4 | ARITHMETIC_BASE | package main" {
		t.Errorf("unexplained: %v", s.unexplained)
	}
	if s.status(50) != 0 || s.status(50.1) != 1 || rate("p", nil, nil).status(0) != 1 {
		t.Error("a score that is too low, or none, is not told from one that is enough")
	}
}

// Each explanation is of code that is there.
func TestExplanations(t *testing.T) {
	t.Chdir(root)
	known, err := readExplanations(explanations)
	if err != nil {
		t.Fatal(err)
	}
	for survivor := range known {
		fields := strings.SplitN(survivor, " | ", 3)
		text, err := os.ReadFile(fields[0])
		code := regexp.MustCompile(`(?m)^\t*` + regexp.QuoteMeta(fields[len(fields)-1]) + `$`)
		if err != nil || len(fields) != 3 || !code.Match(text) {
			t.Errorf("%s: no such line: %q", explanations, survivor)
		}
	}
}

func TestReadExplanations(t *testing.T) {
	name := filepath.Join(t.TempDir(), "explained.txt")
	for text, want := range map[string]bool{
		"":                                   true,
		"# comment\na | B | c\n\td":          true,
		"a | B | c\n\td\n\na | B | d\n\te\n": true,
		"a | B | c\n":                        false,
		"a | B | c\nb | B | c\n\td":          false,
		"\td\n":                              false,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if known, err := readExplanations(name); (err == nil) != want || known["a | B | c"] != (want && text != "") {
			t.Errorf("%q: %v, %v", text, known, err)
		}
	}
}

// A copy of the module prom finds the root module where it is.
func TestStandalone(t *testing.T) {
	t.Chdir(root)
	g := gremlins{dir: t.TempDir()}
	if name, err := g.standalone("rollup"); name != "" || err != nil {
		t.Errorf("rollup: %q, %v", name, err)
	}
	name, err := g.standalone("prom")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Replace) == 0 {
		t.Error("nothing is replaced")
	}
	for _, r := range file.Replace {
		if _, err := os.Stat(filepath.Join(r.New.Path, "go.mod")); err != nil || !filepath.IsAbs(r.New.Path) {
			t.Errorf("%s is replaced by %s: %v", r.Old.Path, r.New.Path, err)
		}
	}
}
