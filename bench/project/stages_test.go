// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// notInDecisions are timers that OPA records, but not in a decision's metrics.
var notInDecisions = []string{"bundle_request", "server_read_bytes"}

// TestStagesAreKnown: metrics knows the names that rollup does, so that their
// keys are formatted once, and rollup those of metrics, so that they are not
// folded into stage other. Families stand for names that metrics need not know.
func TestStagesAreKnown(t *testing.T) {
	timers, counters := namesInSource(t, "knownTimers"), namesInSource(t, "knownCounters")
	var families []string
	stages := slices.Clone(notInDecisions)
	for _, s := range rollup.DefaultStages() {
		if family, ok := strings.CutSuffix(s.Name, "*"); ok {
			families = append(families, family)
			continue
		}
		stages = append(stages, s.Name)
		if !slices.Contains(timers, s.Name) {
			t.Errorf("metrics/name.go: knownTimers lacks %q, a stage of rollup", s.Name)
		}
	}
	for _, name := range rollup.DefaultCounters() {
		if !slices.Contains(counters, name) {
			t.Errorf("metrics/name.go: knownCounters lacks %q, a counter of rollup", name)
		}
	}
	inFamily := func(name string) bool {
		return slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(name, f) })
	}
	for _, name := range timers {
		if !slices.Contains(stages, name) && !inFamily(name) {
			t.Errorf("rollup/stages.go: defaultStages lacks %q, a timer that metrics knows", name)
		}
	}
	for _, name := range counters {
		if !slices.Contains(rollup.DefaultCounters(), name) && !inFamily(name) {
			t.Errorf("rollup/stages.go: defaultCounters lacks %q, a counter that metrics knows", name)
		}
	}
}

// namesInSource returns the strings of an unexported list in package metrics,
// which are literals and constants of the package.
func namesInSource(t *testing.T, list string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "metrics", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	var elements []ast.Expr
	text := func(e ast.Expr) string {
		literal, ok := e.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return ""
		}
		s, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if i >= len(spec.Values) {
					break
				}
				if literal, ok := spec.Values[i].(*ast.CompositeLit); ok && name.Name == list {
					elements = literal.Elts
				} else if s := text(spec.Values[i]); s != "" {
					constants[name.Name] = s
				}
			}
			return true
		})
	}
	for _, e := range elements {
		name := text(e)
		if constant, ok := e.(*ast.Ident); ok {
			name = constants[constant.Name]
		}
		if name == "" {
			t.Fatalf("%s has an element that is neither a string nor a constant of the package", list)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Fatalf("package metrics has no list %s", list)
	}
	return names
}
