// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	ours "github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
	"github.com/regometer/regometer/opa/metrics"
)

// These compile only if the types are OPA's own.
var (
	_ func() opametrics.Metrics = metrics.New
	_ func() opametrics.Metrics = metrics.NoOp
	_ func(...int64) any        = metrics.Statistics
	_ opametrics.Timer          = metrics.Timer(nil)
	_ opametrics.Histogram      = metrics.Histogram(nil)
	_ opametrics.Counter        = metrics.Counter(nil)
	_ opametrics.TimerMetrics   = metrics.TimerMetrics(nil)
	_ opametrics.Info           = metrics.Info{}
)

func TestNew(t *testing.T) {
	m := metrics.New()
	m.Counter("c").Add(400)
	inner, ok := opa.Unwrap(m)
	if !ok {
		t.Fatalf("New returned a %T, want a Regometer collection", m)
	}
	if got := inner.Counter("c").Value(); got != uint64(400) {
		t.Errorf("counter = %v, want 400", got)
	}
	if inner, ok := opa.Unwrap(metrics.NoOp()); !ok || inner != ours.NoOp() {
		t.Errorf("NoOp returned a %T, want Regometer's", metrics.NoOp())
	}
	if got, want := metrics.Statistics(1, 2, 30), ours.Statistics(1, 2, 30); !reflect.DeepEqual(got, want) {
		t.Errorf("Statistics = %v, want %v", got, want)
	}
}

// TestAPI checks that this package has every exported name of OPA's package.
// Its constants are those of package metrics, which bench/difftest compares.
func TestAPI(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa/v1/metrics").Output()
	if err != nil {
		t.Fatal(err)
	}
	want, got := exports(t, strings.TrimSpace(string(dir))), exports(t, ".")
	if len(want) < 20 {
		t.Fatalf("only %d exported names found in OPA's package: %v", len(want), want)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		kind, ok := got[name]
		if !ok {
			t.Errorf("%s is missing", name)
		} else if kind != want[name] {
			t.Errorf("%s is a %s, in OPA a %s", name, kind, want[name])
		}
	}
}

// exports returns the kinds of the exported names that the package in dir
// declares at its top level.
func exports(t *testing.T, dir string) map[string]token.Token {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]token.Token{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					found[d.Name.Name] = token.FUNC
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						found[s.Name.Name] = token.TYPE
					case *ast.ValueSpec:
						for _, name := range s.Names {
							found[name.Name] = d.Tok
						}
					}
				}
			}
		}
	}
	maps.DeleteFunc(found, func(name string, _ token.Token) bool { return !ast.IsExported(name) })
	return found
}

func ExampleNew() {
	m := metrics.New() // an OPA metrics.Metrics
	m.Counter("hits").Incr()
	fmt.Println(m)
	// Output: counter_hits:1
}
