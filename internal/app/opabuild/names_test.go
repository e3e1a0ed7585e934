// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The names that package metrics finds without hashing, since OPA records them,
// are those that OPA's source records by constants, in the newest OPA that is
// supported.
func TestKnownNames(t *testing.T) {
	d, err := loadDropIn()
	if err != nil {
		t.Fatal(err)
	}
	opa, err := download(t.Context(), "OPA", opaModule, NewestVersion)
	if err != nil {
		t.Skip(err)
	}
	recorded, indirect := recordedNames(t, opa.Dir)
	known := knownNames(t, d)

	// Recorded by constants, but not by requests.
	seldom := map[string]string{
		"timer disk_commit":                          "by transactions that write",
		"timer disk_write":                           "by transactions that write",
		"counter decision_logs_chunks_uploaded":      "in a collection of the decision logger, by upload",
		"counter decision_logs_chunks_upload_failed": "in a collection of the decision logger, by upload",
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if known[name] == "" && seldom[name] == "" {
			t.Errorf("OPA records %s (%s), which is not known in metrics/name.go", name, recorded[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if recorded[name] == "" {
			t.Errorf("OPA does not record %s any more, of %s in metrics/name.go", name, known[name])
		}
	}
	// Where the name is a variable, and so not one of those names.
	variable := map[string]string{
		"cmd/bench.go":                      "opa bench: histograms of other metrics",
		"internal/prometheus/prometheus.go": "hands on what it is asked for",
		"v1/ast/compile.go":                 "stages of the compiler, when a policy is activated",
		"v1/plugins/logs/encoder.go":        "in a collection of the decision logger",
		"v1/plugins/logs/eventBuffer.go":    "in a collection of the decision logger",
		"v1/plugins/logs/sizeBuffer.go":     "in a collection of the decision logger",
		"v1/repl/repl.go":                   "the REPL",
		"v1/rego/compile/compile.go":        "a method timer, whose calls are counted",
		"v1/topdown/instrumentation.go":     "methods whose calls are counted",
		"v1/util/channel/channel.go":        "in a collection of the decision logger",
	}
	for _, file := range slices.Sorted(maps.Keys(indirect)) {
		if variable[file] == "" {
			t.Errorf("%s records metrics whose names are no constants: which?", file)
		}
	}
	for file := range variable {
		if !indirect[file] {
			t.Errorf("%s is no exception any more", file)
		}
	}
	for name := range seldom {
		if recorded[name] == "" || known[name] != "" {
			t.Errorf("%s is no exception any more", name)
		}
	}
}

// knownNames returns the known names as "timer x", and where they are listed.
func knownNames(t *testing.T, d dropIn) map[string]string {
	c := constants{}
	var lists []*ast.ValueSpec
	for name, text := range d {
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		c.add("", f)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "known") {
				lists = append(lists, spec)
			}
			return true
		})
	}
	known := map[string]string{}
	for _, list := range lists {
		kinds := map[string][]string{
			"knownTimers": {"timer"}, "knownCounters": {"counter"}, "knownOperations": {"timer", "histogram"},
		}[list.Names[0].Name]
		for _, value := range list.Values {
			for _, e := range value.(*ast.CompositeLit).Elts {
				name, ok := c.value("", nil, e)
				if !ok {
					t.Errorf("%s has an element that is no constant", list.Names[0])
				}
				for _, kind := range kinds {
					known[kind+" "+name] = list.Names[0].Name
				}
			}
		}
	}
	if len(known) < 30 {
		t.Fatalf("%d known names", len(known))
	}
	return known
}

// recordedNames returns what the packages of OPA's tree record by constants, as
// "timer x", and where; and which files record by variables.
func recordedNames(t *testing.T, root string) (recorded map[string]string, indirect map[string]bool) {
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, p)
		if err != nil || d.IsDir() {
			if d != nil && slices.Contains([]string{"testdata", "vendor", "docs", "wasm"}, rel) {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(p, ".go") || isTest(p) {
			return nil
		}
		// A file that cannot be parsed is none for the compiler either.
		if f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution); err == nil {
			files[filepath.ToSlash(rel)] = f
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pkg := func(file string) string { return path.Join(opaModule, path.Dir(file)) }
	c := constants{}
	for range 3 { // constants of constants
		for name, f := range files {
			c.add(pkg(name), f)
		}
	}
	// The methods that take the name of a metric, and the kinds of it that
	// follow.
	kinds := map[string][]string{
		"Timer": {"timer"}, "Counter": {"counter"}, "Histogram": {"histogram"},
		"timer": {"timer"}, "startTimer": {"timer"}, "stopTimer": {"timer", "histogram"}, "counterIncr": {"counter"},
	}
	recorded, indirect = map[string]string{}, map[string]bool{}
	for file, f := range files {
		if pkg(file) == metricsPath {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall || len(call.Args) != 1 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || kinds[method.Sel.Name] == nil {
				return true
			}
			name, ok := c.value(pkg(file), f, call.Args[0])
			if !ok {
				indirect[file] = true
				return true
			}
			for _, kind := range kinds[method.Sel.Name] {
				recorded[kind+" "+name] = file
			}
			return true
		})
	}
	return recorded, indirect
}

// constants has the text of constants and variables by package and name.
type constants map[[2]string]string

func (c constants) add(pkg string, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
			for i, id := range spec.Names {
				if text, ok := c.value(pkg, f, spec.Values[i]); ok {
					c[[2]string{pkg, id.Name}] = text
				}
			}
		}
		return true
	})
}

// value returns the text of an expression in a file, if it is constant.
func (c constants) value(pkg string, f *ast.File, e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, isConst := c.value(pkg, f, e.X)
		y, ok := c.value(pkg, f, e.Y)
		return x + y, isConst && ok && e.Op == token.ADD
	case *ast.Ident:
		text, ok = c[[2]string{pkg, e.Name}]
	case *ast.SelectorExpr:
		x, isIdent := e.X.(*ast.Ident)
		if !isIdent || f == nil {
			return "", false
		}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if i.Name == nil && path.Base(p) == x.Name || i.Name != nil && i.Name.Name == x.Name {
				text, ok = c[[2]string{p, e.Sel.Name}]
			}
		}
	}
	return text, ok
}
