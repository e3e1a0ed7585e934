// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

// checkTypes returns what a compiler would say about packages, whose names are
// the arguments of the command go list. Of what they import from other modules,
// it reads only the declarations. So it takes seconds, and a compiler minutes.
func checkTypes(t *testing.T, list gotool.Command) (problems []error) {
	t.Helper()
	list.Env = append(list.Env, "CGO_ENABLED=0")
	list.Args = slices.Concat([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"}, list.Args)
	out, err := list.Output(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checked, positions := map[string]*types.Package{"unsafe": types.Unsafe}, token.NewFileSet()
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); { // what a package imports comes before it
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
			Module          struct {
				Main      bool
				GoVersion string
			}
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if checked[p.ImportPath] != nil || strings.HasSuffix(p.ImportPath, ".test") {
			continue // go test writes the main package of tests
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			files = append(files, file)
		}
		c := types.Config{
			Importer: importer(func(path string) (*types.Package, error) {
				if other := p.ImportMap[path]; other != "" {
					path = other
				}
				if checked[path] == nil {
					return nil, fmt.Errorf("go list has no package %s", path)
				}
				return checked[path], nil
			}),
			IgnoreFuncBodies: !p.Module.Main,
			Error:            func(err error) { problems = append(problems, err) },
		}
		if p.Module.GoVersion != "" {
			c.GoVersion = "go" + p.Module.GoVersion
		}
		checked[p.ImportPath], _ = c.Check(p.ImportPath, positions, files, nil) // c.Error has the errors
	}
	return problems
}

// All code and all tests compile on the platforms that no test runs on.
func TestPlatforms(t *testing.T) {
	if !slow {
		t.Skip("reads OPA's source for each platform: make test-slow")
	}
	for _, platform := range []struct{ system, processor, folders string }{
		{"linux", "arm64", "./..."}, {"windows", "amd64", "./opa/... ./cmd/regometer/..."}, {"darwin", "arm64", "./opa/... ./cmd/regometer/..."},
	} {
		list := gotool.Command{
			Dir: "../../../..", Args: append([]string{"-test"}, strings.Fields(platform.folders)...), UserEnv: true,
			Env: []string{"GOOS=" + platform.system, "GOARCH=" + platform.processor},
		}
		for _, problem := range checkTypes(t, list) {
			t.Errorf("%s/%s: %v", platform.system, platform.processor, problem)
		}
	}
}

// The check names what is wrong in a module's own code and tests, and does not
// look into what it imports.
func TestCheckTypes(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"go.work":    "go 1.22\n\nuse ./own\n\nreplace example.com/other v1.0.0 => ./other\n",
		"own/go.mod": "module example.com/own\n\ngo 1.22\n\nrequire example.com/other v1.0.0\n", "other/go.mod": "module example.com/other\n\ngo 1.22\n",
		"own/own.go": "package own\n\nimport \"example.com/other\"\n\nvar x int = other.Name\n\nfunc f() { g() }\n", "own/own_test.go": "package own\n\nvar _ = h\n",
		"own/own_windows.go": "package own\n\nvar y = z\n", "other/other.go": "package other\n\nvar Name = \"\"\n\nfunc f() { g() }\n",
	})
	var got []string
	for _, problem := range checkTypes(t, gotool.Command{Dir: filepath.Join(dir, "own"), Args: []string{"-test", "."}, UserEnv: true, Env: []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOOS=windows"}}) {
		_, text, _ := strings.Cut(problem.Error(), "own/")
		if !slices.Contains(got, text) { // with the tests, the package is checked again
			got = append(got, text)
		}
	}
	slices.Sort(got)
	want := []string{"own.go:5:13: cannot use other.Name (variable of type string) as int value in variable declaration", "own.go:7:12: undefined: g", "own_test.go:3:9: undefined: h", "own_windows.go:3:9: undefined: z"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
