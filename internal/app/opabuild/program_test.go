// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/gotool"
)

// programTree returns the files of a module whose program makes a decision by
// OPA's runtime, and which has a package without any OPA and one that does
// without OPA's runtime.
func programTree() map[string]string {
	return map[string]string{
		"go.mod": "module example.com/program\n\ngo 1.22\n\nrequire (\n\texample.com/dep v1.0.0\n\tgithub.com/open-policy-agent/opa v1.5.0\n)\n",
		"cmd/server/main.go": `package main

import (
	"fmt"

	"example.com/dep"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/runtime"
)

var stamp = "none"

func main() {
	runtime.New().Decide()
	fmt.Println(metrics.New("x").Stop(1), dep.Who, stamp, tag)
}
`,
		"cmd/server/untagged.go": "//go:build !special\n\npackage main\n\nconst tag = \"untagged\"\n",
		"cmd/server/tagged.go":   "//go:build special\n\npackage main\n\nconst tag = \"special\"\n",
		"cmd/library/main.go": `package main

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/metrics"
)

func main() { fmt.Println(metrics.New("x").Stop(1)) }
`,
		"cmd/hello/main.go": "package main\n\nfunc main() {}\n",
		"lib/lib.go":        "package lib\n\nimport _ \"github.com/open-policy-agent/opa/v1/metrics\"\n",
	}
}

// The last part of what the program prints, with the drop-in A.
const programLine = "A the proxy's none untagged"

func dep(who string) map[string]string {
	return map[string]string{"go.mod": "module example.com/dep\n\ngo 1.22\n", "dep.go": "package dep\n\nconst Who = \"" + who + "\"\n"}
}

// programProxy lets the go command find the tiny OPA, a fork of it and the
// other module that the program requires.
func programProxy(t *testing.T) {
	t.Helper()
	useProxy(t, func(proxy string) {
		publish(t, proxy, opaModule, "v1.5.0", opaTree())
		fork := opaTree()
		fork["v1/version/version.go"] = strings.Replace(fork["v1/version/version.go"], "1.5.0", "1.5.1", 1)
		publish(t, proxy, "example.com/fork", "v1.5.1", fork)
		publish(t, proxy, "example.com/dep", "v1.0.0", dep("the proxy's"))
		publish(t, proxy, "example.com/unused", "v1.0.0", map[string]string{"go.mod": "module example.com/unused\n\ngo 1.22\n"})
		older := opaTree()
		older["go.mod"] += "\nrequire example.com/older v1.0.0\n"
		publish(t, proxy, opaModule, "v1.4.0", older)
		publish(t, proxy, "example.com/older", "v1.0.0", map[string]string{"go.mod": "module example.com/older\n\ngo 1.22\n"})
	})
	t.Setenv("GOFLAGS", "-mod=readonly")
}

// goIn runs the go command as the program's author does.
func goIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	if err := (gotool.Command{Dir: dir, Args: args, UserEnv: true, Env: []string{"GOFLAGS= "}}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// buildProgramWith builds a program with these parts of ours.
func buildProgramWith(t *testing.T, o Options, d dropIn, ours *plugin) (string, error) {
	t.Helper()
	p, err := openProgramWith(t.Context(), o, parts{dropIn: d, plugin: ours})
	if err != nil {
		return "", err
	}
	t.Cleanup(p.Close)
	return p.Build(t.Context())
}

func buildTinyProgram(t *testing.T, o Options) (prints, says string, err error) {
	t.Helper()
	var b bytes.Buffer
	o.Progress = &b
	file, err := buildProgramWith(t, o, fakeDropIn("A"), mustFindPlugin(t, writeTree(t, tinyPlugin("P"))))
	if err != nil {
		return "", b.String(), err
	}
	return run(t, file), b.String(), nil
}

// However a program selects its OPA, it gets the drop-in, the plugin and the
// hook, all else stays as it is, and nothing is written.
func TestBuildProgram(t *testing.T) {
	programProxy(t)
	const found = "found OPA 1.5.0, "
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string, write func(name, text string)) (module string)
		pkg   string // "" is ./cmd/server
		flags []string
		says  string
		line  string // "" is programLine
	}{
		{name: "plain", says: found + "in the module cache"},
		{name: "flags", flags: []string{"-tags", "special", "-ldflags=-s -X main.stamp=stamped", "-trimpath", "-mod=mod"}, says: found + "in the module cache", line: "A the proxy's stamped special",
			setup: func(t *testing.T, dir string, _ func(name, text string)) string {
				goIn(t, dir, "mod", "vendor") // is left aside by -mod
				return ""
			}},
		{name: "other replacement", says: found + "in the module cache", line: "A a folder's none untagged",
			setup: func(t *testing.T, dir string, write func(name, text string)) string {
				for name, text := range dep("a folder's") {
					write("dep/"+name, text)
				}
				write("go.mod", programTree()["go.mod"]+"\nreplace example.com/dep => ./dep\n")
				goIn(t, dir, "mod", "tidy")
				return ""
			}},
		{name: "folder", says: found + "replaced by a folder",
			setup: func(t *testing.T, dir string, write func(name, text string)) string {
				for name, text := range opaTree() {
					write("opa/"+name, text)
				}
				write("go.mod", programTree()["go.mod"]+"\nreplace "+opaModule+" => ./opa\n")
				goIn(t, dir, "mod", "tidy")
				return ""
			}},
		{name: "fork", says: "found OPA 1.5.1, replaced by example.com/fork v1.5.1",
			setup: func(t *testing.T, dir string, write func(name, text string)) string {
				write("go.mod", programTree()["go.mod"]+"\nreplace "+opaModule+" v1.5.0 => example.com/fork v1.5.1\n")
				goIn(t, dir, "mod", "tidy")
				return ""
			}},
		{name: "vendor", says: found + "in the vendor folder",
			setup: func(t *testing.T, dir string, _ func(name, text string)) string {
				t.Setenv("GOFLAGS", "") // by default Go uses the folder
				goIn(t, dir, "mod", "vendor")
				return ""
			}},
		{name: "workspace", says: found + "in the module cache", line: "A the workspace's none untagged", pkg: "example.com/program/cmd/server",
			setup: func(_ *testing.T, _ string, write func(name, text string)) string {
				for name, text := range dep("the workspace's") {
					write("dep/"+name, text)
				}
				// The go command would add these to go.work.sum. The older OPA
				// requires what the program's does not.
				write("dep/go.mod", dep("")["go.mod"]+"\nrequire (\n\texample.com/unused v1.0.0\n\t"+opaModule+" v1.4.0\n)\n")
				write("go.work", "go 1.22\n\nuse (\n\t.\n\t./dep\n)\n")
				return "dep"
			}},
		{name: "workspace with OPA", says: found + "in the workspace",
			setup: func(_ *testing.T, _ string, write func(name, text string)) string {
				for name, text := range opaTree() {
					write("opa/"+name, text)
				}
				write("go.work", "go 1.22\n\nuse (\n\t.\n\t./opa\n)\n")
				return ""
			}},
		{name: "vendored workspace", says: found + "in the vendor folder",
			setup: func(t *testing.T, dir string, write func(name, text string)) string {
				t.Setenv("GOFLAGS", "")
				write("go.work", "go 1.22\n\nuse .\n")
				goIn(t, dir, "work", "vendor")
				return ""
			}},
		{name: "overlay", says: found, line: "A the proxy's none overlaid", flags: []string{"-overlay=overlay.json"},
			setup: func(_ *testing.T, _ string, write func(name, text string)) string {
				write("tag.txt", "package main\n\nconst tag = \"overlaid\"\n")
				write("overlay.json", `{"Replace":{"cmd/server/untagged.go":"tag.txt"}}`)
				return ""
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")) // a setup may set it
			dir := writeTree(t, programTree())
			goIn(t, dir, "mod", "tidy")
			o := Options{Dir: dir, Package: c.pkg, Flags: c.flags}
			if c.pkg == "" {
				o.Package = "./cmd/server"
			}
			if c.setup != nil {
				o.Dir = filepath.Join(dir, c.setup(t, dir, func(name, text string) { writeText(t, filepath.Join(dir, name), text) }))
			}
			before := readTree(t, dir)
			prints, says, err := buildTinyProgram(t, o)
			if err != nil {
				t.Fatalf("%v\n%s", err, says)
			}
			line := c.line
			if line == "" {
				line = programLine
			}
			plugin := strings.TrimSuffix(hookedPlugin, "1.5.0  A")
			if strings.Contains(says, "1.5.1") {
				plugin = strings.Replace(plugin, "1.5.0", "1.5.1", 1)
			}
			if want := strings.Replace(plugin, "%s", "P", 1) + line; prints != want {
				t.Errorf("prints %q, want %q", prints, want)
			}
			if !strings.Contains(says, c.says) || strings.Contains(says, "warning") || !strings.Contains(says, "has the drop-in, the plugin and the decision hook\n") {
				t.Errorf("says %s", says)
			}
			checkSameTree(t, dir, before)
		})
	}
}

// What the binary says of itself, and a program without OPA's runtime.
func TestInspectProgram(t *testing.T) {
	programProxy(t)
	dir := writeTree(t, programTree())
	goIn(t, dir, "mod", "tidy")
	platform := ""
	build := func(pkg string, noPlugin bool) (Binary, string) {
		t.Helper()
		var b bytes.Buffer
		var p *plugin
		if !noPlugin {
			p = mustFindPlugin(t, writeTree(t, tinyPlugin("P")))
		}
		o := Options{Dir: dir, Package: pkg, Platform: platform, Progress: &b}
		file, err := buildProgramWith(t, o, fakeDropIn("A"), p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Inspect(file)
		if err != nil {
			t.Fatal(err)
		}
		if platform != "" && got.Platform != platform {
			t.Errorf("%s is for %s", platform, got.Platform)
		}
		got.Go, got.Platform = "", ""
		return *got, b.String()
	}
	want := Binary{Program: "example.com/program/cmd/library", OPA: "1.5.0", Regometer: "(devel)", DropIn: fakeDropIn("A").hash()}
	if got, says := build("./cmd/library", false); got != want || !strings.Contains(says, "without the plugin: the program does not use OPA's runtime") {
		t.Errorf("without OPA's runtime: %+v, want %+v\n%s", got, want, says)
	}
	want.Program = "example.com/program/cmd/server"
	if got, says := build("./cmd/server", true); got != want {
		t.Errorf("without the plugin: %+v, want %+v\n%s", got, want, says)
	}
	want.Plugin, want.Hook = true, true
	if got, says := build("./cmd/server", false); got != want {
		t.Errorf("with all: %+v, want %+v\n%s", got, want, says)
	}
	platform = "windows/arm64"
	if got, says := build("./cmd/server", false); got != want {
		t.Errorf("for another system: %+v, want %+v\n%s", got, want, says)
	}
	writeText(t, filepath.Join(dir, "cmd/only/v2/main_windows.go"), programTree()["cmd/library/main.go"])
	for pkg, want := range map[string]string{"./cmd/server": "server.exe", "./cmd/only/v2": "only.exe"} {
		p, err := openProgramWith(t.Context(), Options{Dir: dir, Package: pkg, Platform: platform}, parts{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != want {
			t.Errorf("%s is called %q", pkg, p.Name)
		}
		p.Close()
	}
	if name := (mainPackage{ImportPath: "example.com/x/v12"}).binary("windows"); name != "x.exe" {
		t.Errorf("without a target it is called %s", name)
	}

	plain := filepath.Join(t.TempDir(), "plain")
	goIn(t, dir, "build", "-o", plain, "./cmd/library")
	if got := inspect(t, plain); got != (Binary{Program: "example.com/program/cmd/library", OPA: "1.5.0"}) {
		t.Errorf("as go build makes it: %+v", got)
	}
	pr, err := openProgramWith(t.Context(), Options{Dir: dir, Package: "./cmd/library"}, parts{dropIn: fakeDropIn("A")})
	if err != nil {
		t.Fatal(err)
	}
	fork, forked := writeTree(t, opaTree()), filepath.Join(dir, "forked")
	goIn(t, dir, "mod", "edit", "-replace="+opaModule+"="+fork)
	goIn(t, dir, "build", "-o", forked, "./cmd/library")
	if got := inspect(t, forked); got.Replaced != fork {
		t.Errorf("OPA is replaced by %q, want %s", got.Replaced, fork)
	}
	checkError(t, "no record", pr.check(plain, record{}), "lacks the record of this build")
	goIn(t, dir, "build", "-o", plain, "./cmd/hello")
	_, err = Inspect(plain)
	checkError(t, "no OPA", err, "has no OPA inside: it is built from example.com/program/cmd/hello")
}

// A vendor folder without what the plugin imports, a runtime that the hook does
// not fit: the rest is built.
func TestBuildProgramLacks(t *testing.T) {
	programProxy(t)
	t.Setenv("GOFLAGS", "")
	dir := writeTree(t, programTree())
	goIn(t, dir, "mod", "tidy")
	goIn(t, dir, "mod", "vendor")
	ours := tinyPlugin("P")
	ours["opa/plugin/more.go"] = "package plugin\n\nimport _ \"example.com/more\"\n"
	var b bytes.Buffer
	o := Options{Dir: dir, Package: "./cmd/server", Progress: &b}
	file, err := buildProgramWith(t, o, fakeDropIn("A"), mustFindPlugin(t, writeTree(t, ours)))
	if err != nil {
		t.Fatal(err)
	}
	if prints := run(t, file); prints != programLine || !strings.Contains(b.String(), "warning: without the plugin because it imports packages that the program's modules lack: example.com/more\n") {
		t.Errorf("prints %q\n%s", prints, &b)
	}

	runtime := filepath.Join(dir, "vendor", filepath.FromSlash(opaModule), runtimeDir, "runtime.go")
	writeText(t, runtime, strings.Replace(opaTree()["v1/runtime/runtime.go"], "plugin == nil", "nil == plugin", 1))
	for range 2 { // the second time the copy is there
		prints, says, err := buildTinyProgram(t, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(strings.TrimSuffix(unhookedPlugin, "1.5.0  A"), "%s", "P", 1) + programLine; prints != want || !strings.Contains(says, "there is no method decisionLogger") {
			t.Errorf("without the hook it prints %q, want %q\n%s", prints, want, says)
		}
	}
}

func TestBuildProgramRefuses(t *testing.T) {
	programProxy(t)
	dir := writeTree(t, programTree())
	goIn(t, dir, "mod", "tidy")
	old := writeTree(t, map[string]string{"go.mod": "module example.com/old\n\ngo 1.22\n\nrequire " + opaModule + " v0.70.0\n\nreplace " + opaModule + " => ./opa\n", "opa/go.mod": "module " + opaModule + "\n\ngo 1.22\n", "opa/ast/ast.go": "package ast\n", "main.go": "package main\n\nimport _ \"" + opaModule + "/ast\"\n\nfunc main() {}\n"})
	cached := filepath.Join(os.Getenv("GOMODCACHE"), "example.com", "program@v1.0.0")
	if err := os.CopyFS(cached, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	workspace := writeTree(t, map[string]string{"go.work": "go 1.22\n\nuse ./listed\n", "listed/go.mod": "module example.com/listed\n\ngo 1.22\n", "unlisted/go.mod": "module example.com/unlisted\n\ngo 1.22\n\nrequire " + opaModule + " v1.5.0\n"})
	unlisted := filepath.Join(workspace, "unlisted")
	broken := filepath.Join(t.TempDir(), "line\nbreak")
	if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	before := readTree(t, dir)
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"no such folder", Options{Dir: filepath.Join(dir, "nothing")}, "there is no folder "},
		{"a file", Options{Dir: filepath.Join(dir, "go.mod")}, "is not a folder"},
		{"no module", Options{Dir: t.TempDir()}, "is in no Go module"},
		{"no OPA", Options{Dir: writeTree(t, map[string]string{"go.mod": "module x\n\ngo 1.22\n"})}, "does not require OPA"},
		{"old OPA", Options{Dir: old}, "OPA v0.70.0 is too old"},
		{"OPA itself", Options{Dir: writeTree(t, opaTree())}, "is OPA itself, "},
		{"no such package", Options{Dir: dir, Package: "./nothing"}, "there is no package ./nothing: "},
		{"without ./", Options{Dir: dir, Package: "cmd/server"}, "is ./cmd/server"},
		{"no flag", Options{Dir: dir, Package: "./cmd/library", Flags: []string{"special"}}, "package special is not in std"},
		{"cover", Options{Dir: dir, Package: "./cmd/library", Flags: []string{"-cover"}}, "leave -cover out"},
		{"count", Options{Dir: dir, Flags: []string{"-count=2"}}, "the flag -count cannot be handed on"},
		{"not in the workspace", Options{Dir: unlisted, Package: "."}, "set GOWORK=off"},
		{"a library", Options{Dir: dir, Package: "./lib"}, "./lib is package lib, not a main package"},
		{"a line break", Options{Dir: broken, Package: "./cmd/server"}, "cannot build ./cmd/server: invalid package directory "},
		{"no OPA inside", Options{Dir: dir, Package: "./cmd/hello"}, "./cmd/hello has no OPA inside"},
		{"another module's", Options{Dir: dir, Package: opaModule}, "is not in the module in "},
		{"module cache", Options{Dir: cached, Package: "./cmd/server"}, "is in Go's module cache"},
		{"files", Options{Dir: dir, Package: "main.go"}, "not the name of one package"},
		{"all packages", Options{Dir: dir, Package: "./..."}, "not the name of one package"},
		{"modfile", Options{Dir: dir, Flags: []string{"-modfile", "x"}}, "the flag -modfile cannot be handed on"},
		{"overlay", Options{Dir: dir, Package: "./cmd/server", Flags: []string{"-overlay=nothing.json"}}, "open nothing.json"},
	} {
		_, _, err := buildTinyProgram(t, c.o)
		checkError(t, c.name, err, c.want)
	}
	checkSameTree(t, dir, before)
	needs := filepath.Join(dir, "cmd/library/more.go")
	writeText(t, needs, "package main\n\nimport \"github.com/open-policy-agent/opa/v1/metrics\"\n\nvar _ = metrics.Unused\n")
	_, _, err := buildTinyProgram(t, Options{Dir: dir, Package: "./cmd/library"})
	checkError(t, "lacks", err, "undefined: metrics.Unused\nThe drop-in supports OPA")
	writeText(t, needs, "package main\n")
	writeText(t, filepath.Join(filepath.Dir(needs), buildFile), "package main\n")
	_, _, err = buildTinyProgram(t, Options{Dir: dir, Package: "./cmd/library"})
	checkError(t, "taken", err, "rename it")
}

// A cache that is removed in the middle is named as the cause.
func TestBuildProgramWithoutCache(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the compiler is run by way of a shell")
	}
	programProxy(t)
	t.Setenv("REGOMETER_CACHE", filepath.Join(t.TempDir(), "cache"))
	dir := writeTree(t, programTree())
	goIn(t, dir, "mod", "tidy")
	_, _, err := buildTinyProgram(t, Options{Dir: dir, Package: "./cmd/library", Flags: []string{`-toolexec=sh -c 'rm -rf "$REGOMETER_CACHE"; exit 1'`}})
	checkError(t, "removed", err, "was removed meanwhile, with the cache")
}

// The tests of a program on both sides, in its own folder.
func TestVerifyProgram(t *testing.T) {
	programProxy(t)
	files := programTree()
	files["lib/lib_test.go"] = `package lib

import (
	"os"
	"testing"

	"github.com/open-policy-agent/opa/v1/metrics"
)

func TestArgs(t *testing.T) {
	if arg := os.Args[len(os.Args)-1]; arg != "mark" {
		t.Error(arg)
	}
}

func TestSame(t *testing.T) { t.Run("below", func(*testing.T) {}) }

func TestWho(t *testing.T) {
	if who := metrics.New("x").Stop(1); who != "OPA" {
		t.Error("not OPA but", who)
	}
}
`
	files["cmd/hello/tagged_test.go"] = "//go:build special\n\npackage main\n\nimport \"testing\"\n\nfunc TestTagged(*testing.T) {}\n"
	dir := writeTree(t, files)
	goIn(t, dir, "mod", "tidy")
	before := readTree(t, dir)
	var says bytes.Buffer
	r, err := verifyWith(t.Context(), VerifyOptions{Program: true, Dir: dir, Flags: []string{"-tags", "special", "-short", "-args", "mark"}, Progress: &says}, parts{dropIn: fakeDropIn("A")})
	if err != nil {
		t.Fatalf("%v\n%s", err, &says)
	}
	checkSameTree(t, dir, before)
	if len(r.Packages) != 2 || r.OK() {
		t.Fatalf("%+v\n%s", r, &says)
	}
	lib := r.Packages[1]
	if lib.Package != "example.com/program/lib" || lib.Unmodified.Passed != 4 || lib.Changed.Passed != 3 || lib.Changed.Failed != 1 ||
		len(lib.Findings) != 1 || lib.Findings[0].Kind != FailsChanged || lib.Findings[0].Test != "TestWho" || !strings.Contains(lib.Findings[0].Output, "not OPA but A") {
		t.Errorf("%+v", lib)
	}
	if hello := r.Packages[0]; hello.Changed.Passed != 1 || len(hello.Findings) > 0 {
		t.Errorf("%+v", hello)
	}
	_, err = verifyWith(t.Context(), VerifyOptions{Program: true, Dir: dir, Packages: []string{"./cmd/library"}}, parts{dropIn: fakeDropIn("A")})
	checkError(t, "no tests", err, "no tests in ./cmd/library")
	_, err = verifyWith(t.Context(), VerifyOptions{Program: true, Dir: dir, Run: "("}, parts{dropIn: fakeDropIn("A")})
	checkError(t, "pattern", err, "which tests to run")
}

func TestReadFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, goflags  string
		mod, all, list string
		overlay        string
		want           string
	}{
		{args: "-tags a,b -race -v", all: "-tags a,b -race -v", list: "-tags=a,b -race"},
		{args: "-mod=vendor --tags=x", goflags: "-mod=mod", mod: "vendor", all: "--tags=x", list: "-tags=x"},
		{goflags: `-mod=mod "-ldflags=-s -w" '-overlay=a b'`, mod: "mod", overlay: "a b"},
		{args: "-mod mod -overlay x -short", mod: "mod", overlay: "x", all: "-short"},
		{args: "-o x", want: "the flag -o cannot"},
		{goflags: "-modfile=x", want: "the flag -modfile cannot"},
		{goflags: "'-x", want: "no end of the quotation"},
	} {
		b, err := readFlags(strings.Fields(c.args), c.goflags)
		checkError(t, c.args+c.goflags, err, c.want)
		if err != nil {
			continue
		}
		if all, list := strings.Join(b.all, " "), strings.Join(b.list(), " "); b.mod != c.mod || b.overlay != c.overlay || all != c.all || list != c.list {
			t.Errorf("%q, %q: %+v, to list %q", c.args, c.goflags, b, list)
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	a := map[string]string{"x": "v1.0.0", "y": "v1.0.0", "z": "v1.0.0"}
	b := maps.Clone(a)
	if got := differences(a, b); len(got) > 0 {
		t.Errorf("%q", got)
	}
	b["x"], b["w"] = "v1.1.0", "v0.1.0"
	delete(b, "y")
	want := []string{"module w comes in at v0.1.0", "module x moves from v1.0.0 to v1.1.0", "module y is gone"}
	if got := differences(a, b); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWantsPlugin(t *testing.T) {
	t.Parallel()
	server := opaModule + "/v1/runtime"
	for _, c := range []struct {
		deps string
		want bool
		says string
	}{
		{metricsPath, false, "does not use OPA's runtime"},
		{metricsPath + " " + server, true, ""},
		{server + " " + ourModule + "/opa/plugin", false, "brings Regometer's itself"},
	} {
		var b bytes.Buffer
		if got := (mainPackage{Deps: strings.Fields(c.deps)}).wantsPlugin(progress{w: &b}); got != c.want || !strings.Contains(b.String(), c.says) || (c.says == "") != (b.Len() == 0) {
			t.Errorf("%s: %t, says %q", c.deps, got, &b)
		}
	}
}
