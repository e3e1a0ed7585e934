// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/regometer/regometer/internal/app/opabuild"
)

const (
	root       = "../.."
	opaPath    = "github.com/open-policy-agent/opa"
	fileHeader = "// Copyright 2026 The Regometer Authors\n// SPDX-License-Identifier: Apache-2.0\n\n"
)

func modules(t *testing.T) []Module {
	t.Helper()
	found, err := Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRootRequiresNothing: importing the core must not move an importer's
// versions.
func TestRootRequiresNothing(t *testing.T) {
	core := modules(t)[0].File
	if n := len(core.Require) + len(core.Replace) + len(core.Tool); n != 0 {
		t.Errorf("the root go.mod has %d require, replace or tool directives, want none", n)
	}
	if _, err := os.Stat(filepath.Join(root, "go.sum")); err == nil {
		t.Error("the root module has a go.sum")
	}
}

// opaLimits returns what the newest OPA requires: its go line, and the version
// of each dependency and of itself.
func opaLimits(t *testing.T) (goVersion string, versions map[string]string) {
	t.Helper()
	gomod, err := run(t.Context(), ".", []string{"GOWORK=off"}, "go", "list", "-m", "-f", "{{.GoMod}}", opaPath+"@"+opabuild.NewestVersion)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSpace(gomod))
	if err != nil {
		t.Fatal(err)
	}
	opa, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions = map[string]string{opaPath: opabuild.NewestVersion}
	for _, r := range opa.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return opa.Go.Version, versions
}

// TestModulesPinOPA: the module that programs import requires the oldest OPA,
// so that it moves nobody's; what is measured and tried out is the newest.
func TestModulesPinOPA(t *testing.T) {
	want := map[string]string{"opa": opabuild.OldestVersion, "bench": opabuild.NewestVersion, "examples/embed": opabuild.NewestVersion}
	for _, m := range modules(t) {
		dir := filepath.ToSlash(m.Dir)
		for _, r := range m.File.Require {
			if r.Mod.Path != opaPath {
				continue
			}
			if r.Mod.Version != want[dir] {
				t.Errorf("%s/go.mod requires OPA %s, want %s: run cd %[1]s && GOWORK=off go get %[4]s@%[3]s", dir, r.Mod.Version, want[dir], opaPath)
			}
			delete(want, dir)
		}
	}
	if len(want) > 0 {
		t.Errorf("these modules do not require OPA: %v", want)
	}
}

// TestDependenciesNotNewerThanOPAs: a program with the newest OPA must get the
// same versions with our modules as without them.
func TestDependenciesNotNewerThanOPAs(t *testing.T) {
	goVersion, limits := opaLimits(t)
	for _, m := range modules(t) {
		if semver.Compare("v"+m.File.Go.Version, "v"+goVersion) > 0 {
			t.Errorf("%s: go %s is above OPA's go %s", m.Path, m.File.Go.Version, goVersion)
		}
		for _, newer := range above(m.File.Require, limits) {
			t.Errorf("%s requires %s, newer than OPA %s", m.Path, newer, opabuild.NewestVersion)
		}
	}
}

// above returns the requirements whose version is above the limit for their
// path, if there is one.
func above(requires []*modfile.Require, limits map[string]string) (found []string) {
	for _, r := range requires {
		if limit, ok := limits[r.Mod.Path]; ok && semver.Compare(r.Mod.Version, limit) > 0 {
			found = append(found, r.Mod.String()+" (OPA: "+limit+")")
		}
	}
	return found
}

func TestAbove(t *testing.T) {
	file, err := modfile.Parse("go.mod", []byte("module m\nrequire (\na.b/same v1.9.0\na.b/newer v1.10.0 // indirect\na.b/other v0.9.0\n)"), nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]string{"a.b/same": "v1.9.0", "a.b/newer": "v1.9.0"}
	if got, want := above(file.Require, limits), []string{"a.b/newer@v1.10.0 (OPA: v1.9.0)"}; !slices.Equal(got, want) {
		t.Errorf("above = %v, want %v", got, want)
	}
}

// outside are the folders of modules that go.work does not list. They serve the
// tests alone, and are not released.
var outside = []string{
	"e2e",          // needs newer dependencies than OPA: the workspace would move OPA's
	"e2e/extauthz", // has OPA inside, which needs a newer glob than the Collector in e2e
}

// TestModulesOutside: a module is outside only for its reason, and is of no
// concern to the others.
func TestModulesOutside(t *testing.T) {
	_, limits := opaLimits(t)
	for _, dir := range outside {
		path := filepath.Join(root, dir, "go.mod")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse(path, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == opaPath }); i >= 0 {
			if v := file.Require[i].Mod.Version; v != opabuild.NewestVersion {
				t.Errorf("%s requires OPA %s, want %s: run cd %[1]s && GOWORK=off go get %[4]s@%[3]s", dir, v, opabuild.NewestVersion, opaPath)
			}
		} else if len(above(file.Require, limits)) == 0 {
			t.Errorf("%s requires nothing that is newer than OPA %s's: list it in go.work", dir, opabuild.NewestVersion)
		}
		for _, m := range modules(t) {
			for _, r := range m.File.Require {
				if r.Mod.Path == file.Module.Mod.Path {
					t.Errorf("%s requires %s, which is not released", m.Path, r.Mod.Path)
				}
			}
			for _, r := range file.Require {
				if r.Mod.Path == m.Path {
					t.Errorf("%s requires %s, which a release could not update", file.Module.Mod.Path, m.Path)
				}
			}
		}
	}
}

// layers are the folders that are imported from. Each may import those of later
// lines; within a line none imports another.
var layers = [][]string{
	{"bench"},
	{"cmd"},
	{"internal/app"},
	{"opa", "decisionlog"},
	{"prom"},
	{"rollup"},
	{"exphist", "metrics", "."},
	{"internal"},
}

// TestImportsPointDown: who imports the core must not get what stands on it.
func TestImportsPointDown(t *testing.T) {
	own := modules(t)[0].Path
	out, err := run(t.Context(), root, nil, "go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, own+"/...")
	if err != nil {
		t.Fatal(err)
	}
	arrows := 0
	for line := range strings.Lines(out) {
		packages := strings.Fields(line)
		from, ok := folderOf(own, packages[0])
		if !ok || layerOf(from) < 0 {
			continue // nobody imports it
		}
		for _, imported := range packages[1:] {
			to, ok := folderOf(own, imported)
			if !ok || to == from {
				continue
			}
			arrows++
			if layerOf(to) <= layerOf(from) {
				t.Errorf("%s imports %s", packages[0], imported)
			}
		}
	}
	if arrows < len(layers)-1 {
		t.Errorf("only %d imports among our packages found", arrows)
	}
}

// folderOf returns the first folder of a package of ours, and "." for the root.
// The application below internal stands above the packages beside it.
func folderOf(own, imported string) (string, bool) {
	rest, ok := strings.CutPrefix(imported, own)
	if rest == "" {
		return ".", ok
	}
	if strings.HasPrefix(rest, "/internal/app/") {
		return "internal/app", ok
	}
	folder, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return folder, ok && rest[0] == '/'
}

// layerOf returns the line of layers, -1 if there is none.
func layerOf(folder string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, folder) })
}

// TestModulesListed: a module that go.work does not list would be neither
// tested nor released with the others.
func TestModulesListed(t *testing.T) {
	var listed, found []string
	for _, m := range modules(t) {
		listed = append(listed, filepath.ToSlash(m.Dir))
		if want := path.Join("github.com/regometer/regometer", filepath.ToSlash(m.Dir)); m.Path != want {
			t.Errorf("the module in %s is named %s, want %s", m.Dir, m.Path, want)
		}
	}
	for _, file := range repositoryFiles(t) {
		if path.Base(file) == "go.mod" && !strings.Contains(file, "testdata/") {
			found = append(found, path.Dir(file))
		}
	}
	all := slices.Concat(listed, outside)
	slices.Sort(all)
	slices.Sort(found)
	if !slices.Equal(all, found) {
		t.Errorf("go.work lists %v, go.mod files are in %v, of which %v may be missing", listed, found, outside)
	}
}

// TestWorkspaceSums: the go command writes hashes that it lacks into
// go.work.sum, and make dist refuses a checkout with changes.
func TestWorkspaceSums(t *testing.T) {
	have := map[string]bool{}
	sums := []string{"go.work.sum"}
	for _, m := range modules(t) {
		sums = append(sums, filepath.Join(m.Dir, "go.sum"))
	}
	for _, name := range sums {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a module that requires no other
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 3 {
				have[fields[0]+" "+fields[1]] = true
			}
		}
	}
	out, err := run(t.Context(), root, nil, "go", "list", "-m", "-f", "{{if not .Main}}{{.Path}} {{.Version}}{{end}}", "all")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(out) {
		name = strings.TrimSpace(name)
		if name != "" && (!have[name] || !have[name+"/go.mod"]) {
			t.Errorf("go.work.sum lacks a hash of %s: run go mod download", name)
		}
	}
}

func TestFileHeaders(t *testing.T) {
	for file, text := range goFiles(t) {
		if strings.Contains(file, "/_opa/") {
			continue // what goes into OPA has OPA's header
		}
		if !strings.HasPrefix(text, fileHeader) {
			t.Errorf("%s does not begin with the licence header and an empty line", file)
		}
	}
}

// TestFileNames: a test's file is named after what it tests. Whether it is of
// the package itself or of its importers, its package clause says.
func TestFileNames(t *testing.T) {
	for file := range goFiles(t) {
		if strings.HasSuffix(file, "_internal_test.go") {
			t.Errorf("%s: leave _internal out of the name", file)
		}
	}
}

// commentWidth is the number of columns up to which comments go, with a tab as
// four.
const commentWidth = 80

// tooWide reports whether a line is a comment that can be broken and was not:
// preformatted text, directives and links cannot.
func tooWide(line string) bool {
	line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
	text, isComment := strings.CutPrefix(strings.TrimLeft(line, " "), "// ")
	return isComment && utf8.RuneCountInString(line) > commentWidth &&
		!strings.HasPrefix(text, " ") && !strings.Contains(text, "://")
}

func TestTooWide(t *testing.T) {
	fits := "// " + strings.Repeat("x", commentWidth-len("// "))
	for line, want := range map[string]bool{
		fits:                                     false,
		fits + "\n":                              false,
		fits + "x\n":                             true,
		"\t" + fits:                              true,
		"\t" + fits[:len(fits)-4]:                false,
		"\t" + fits[:len(fits)-3]:                true,
		strings.ReplaceAll(fits, "x", "µ"):       false,
		strings.Replace(fits, " ", "  ", 1):      false, // preformatted
		strings.Replace(fits, " ", "", 1) + "xx": false, // a directive
		fits + " https://example.com":            false,
		"x := " + strings.Replace(fits, " ", "", 1) + " // a comment after code is as long as it is": false,
	} {
		if got := tooWide(line); got != want {
			t.Errorf("tooWide(%q) = %v", line, got)
		}
	}
}

func TestCommentWidth(t *testing.T) {
	for file, text := range goFiles(t) {
		if strings.Contains(file, "/_upstream/") {
			continue // declarations of OPA's keep their comments
		}
		n, output := 0, false // what an example prints is as wide as it is
		for line := range strings.Lines(text) {
			comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "// ")
			output = isComment && (output || strings.HasPrefix(comment, "Output:") || strings.HasPrefix(comment, "Unordered output:"))
			if n++; !output && tooWide(line) {
				t.Errorf("%s:%d: a comment of more than %d columns", file, n, commentWidth)
			}
		}
	}
}

// goFiles returns the texts of all of the repository's Go files.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, file := range repositoryFiles(t) {
		if !strings.HasSuffix(file, ".go") || strings.Contains(file, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

func repositoryFiles(t *testing.T) []string {
	t.Helper()
	found, err := files(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d files found", len(found))
	}
	return found
}
