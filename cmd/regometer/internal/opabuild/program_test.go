// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
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
	opametrics "github.com/open-policy-agent/opa/v1/metrics"
	oparuntime "github.com/open-policy-agent/opa/v1/runtime"
)

var stamp = "none"

func main() {
	oparuntime.New().Decide()
	fmt.Println(opametrics.New("x").Stop(1), dep.Who, stamp, tag)
}
`,
		// A program may use any name.
		"cmd/server/names.go":    "package main\n\nvar context, hooks, metrics, plugin, plugins, rollup, runtime, version int\n\ntype bool int\n\ntype string int\n\nfunc append() {}\n",
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

// modulesIn returns the modules in a binary and their versions, except OPA.
func modulesIn(t *testing.T, file string) (modules []string) {
	t.Helper()
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if m.Path != opaModule {
			modules = append(modules, m.Path+" "+m.Version)
		}
	}
	return modules
}

// A program gets the drop-in, the plugin and the hook in every way to select
// its OPA. Nothing else changes in the binary, and no file of the program.
func TestBuildProgram(t *testing.T) {
	programProxy(t)
	// in returns the files in a folder.
	in := func(folder string, files map[string]string, more ...string) map[string]string {
		all := map[string]string{}
		for name, text := range files {
			all[folder+"/"+name] = text
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	mod := programTree()["go.mod"]
	for _, c := range []struct {
		name    string
		files   map[string]string // added to the program's
		prepare string            // arguments of go, after mod tidy
		goflags string
		dir     string
		pkg     string // "" is ./cmd/server
		flags   []string
		version string // of OPA; "" is 1.5.0
		line    string // "" is programLine
	}{
		{name: "plain"},
		{name: "flags", prepare: "mod vendor", // -mod ignores the folder
			flags: []string{"-tags", "special", "-ldflags=-s -X main.stamp=stamped", "-trimpath", "-mod=mod"}, line: "A the proxy's stamped special"},
		{name: "other replacement", files: in("dep", dep("a folder's"), "go.mod", mod+"\nreplace example.com/dep => ./dep\n"), line: "A a folder's none untagged"},
		{name: "folder", files: in("opa", opaTree(), "go.mod", mod+"\nreplace "+opaModule+" => ./opa\n")},
		{name: "fork", files: map[string]string{"go.mod": mod + "\nreplace " + opaModule + " v1.5.0 => example.com/fork v1.5.1\n"}, version: "1.5.1"},
		{name: "vendor", prepare: "mod vendor", goflags: " "}, // by default Go uses the folder
		// The go command would add the requirements of dep to go.work.sum. The
		// older OPA requires a module that the program's OPA does not.
		{name: "workspace", dir: "dep", pkg: "example.com/program/cmd/server", line: "A the workspace's none untagged",
			files: in("dep", dep("the workspace's"), "go.work", "go 1.22\n\nuse (\n\t.\n\t./dep\n)\n",
				"dep/go.mod", dep("")["go.mod"]+"\nrequire (\n\texample.com/unused v1.0.0\n\t"+opaModule+" v1.4.0\n)\n")},
		{name: "workspace with OPA", files: in("opa", opaTree(), "go.work", "go 1.22\n\nuse (\n\t.\n\t./opa\n)\n")},
		{name: "vendored workspace", files: map[string]string{"go.work": "go 1.22\n\nuse .\n"}, prepare: "work vendor", goflags: " "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOFLAGS", cmp.Or(c.goflags, "-mod=readonly"))
			files := programTree()
			maps.Copy(files, c.files)
			work := files["go.work"]
			delete(files, "go.work") // until go.sum is there
			dir := writeTree(t, files)
			goIn(t, dir, "mod", "tidy")
			if work != "" {
				writeText(t, filepath.Join(dir, "go.work"), work)
			}
			if c.prepare != "" {
				goIn(t, dir, strings.Fields(c.prepare)...)
			}
			before := readTree(t, dir)
			file, says := mustBuild(t, Options{Dir: filepath.Join(dir, c.dir), Package: cmp.Or(c.pkg, "./cmd/server"), Flags: c.flags}, tinyParts(t, "P"))
			version := cmp.Or(c.version, "1.5.0")
			plugin := strings.ReplaceAll(strings.TrimSuffix(hookedPlugin, "1.5.0  A"), "1.5.0", version)
			if got, want := run(t, file), fmt.Sprintf(plugin, "P")+cmp.Or(c.line, programLine); got != want {
				t.Errorf("prints %q, want %q", got, want)
			}
			if !strings.Contains(says, "found OPA "+version) || strings.Contains(says, "warning") || !strings.Contains(says, "has the drop-in, the fixes observed-decisions, the plugin and the decision hook\n") {
				t.Errorf("the progress is %s", says)
			}
			checkSameTree(t, dir, before)
			if c.prepare == "" {
				plain := filepath.Join(t.TempDir(), "plain")
				goIn(t, filepath.Join(dir, c.dir), append([]string{"build", "-o", plain}, append(c.flags, cmp.Or(c.pkg, "./cmd/server"))...)...)
				if got, want := modulesIn(t, file), modulesIn(t, plain); !slices.Equal(got, want) {
					t.Errorf("its modules are %v, and %v after go build", got, want)
				}
			}
		})
	}
}

// The binary has a record of its parts. A runtime that the hook does not fit,
// or a vendor folder without the packages that the plugin imports, leaves parts
// out.
func TestInspectProgram(t *testing.T) {
	programProxy(t)
	t.Setenv("GOFLAGS", "")
	dir := writeTree(t, programTree())
	goIn(t, dir, "mod", "tidy")
	vendored := writeTree(t, programTree())
	goIn(t, vendored, "mod", "tidy")
	goIn(t, vendored, "mod", "vendor")
	unhooked := writeTree(t, programTree())
	goIn(t, unhooked, "mod", "tidy")
	goIn(t, unhooked, "mod", "vendor")
	text := strings.Replace(opaTree()[runtimeFile], "plugin == nil", "nil == plugin", 1)
	writeText(t, filepath.Join(unhooked, "vendor", filepath.FromSlash(opaModule), runtimeFile), text)
	lacking := tinyPlugin("P")
	lacking["opa/plugin/more.go"] = "package plugin\n\nimport _ \"example.com/more\"\n"
	all := tinyParts(t, "P")
	bare := parts{dropIn: all.dropIn}
	for _, c := range []struct {
		name         string
		o            Options
		p            parts
		plugin, hook bool
		says         string
	}{
		{"without OPA's runtime", Options{Dir: dir, Package: "./cmd/library"}, all, false, false, "without the plugin: the program does not use OPA's runtime"},
		{"without the plugin", Options{Dir: dir, Package: "./cmd/server"}, bare, false, false, ""},
		{"with all", Options{Dir: dir, Package: "./cmd/server"}, all, true, true, ""},
		{"for another system", Options{Dir: dir, Package: "./cmd/server"}, all, true, true, "for windows/arm64"},
		{"without the hook", Options{Dir: unhooked, Package: "./cmd/server"}, all, true, false, "warning: no decision hook for OPA 1.5.0: "},
		{"again", Options{Dir: unhooked, Package: "./cmd/server"}, all, true, false, "warning: no decision hook for OPA 1.5.0: "},
		{"vendor folder", Options{Dir: vendored, Package: "./cmd/server"}, parts{dropIn: all.dropIn, plugin: mustFindPlugin(t, writeTree(t, lacking))}, false, false,
			"warning: without the plugin because it imports packages that the program's modules lack: example.com/more\n"},
	} {
		other := c.name == "for another system"
		if other && !slow {
			continue // Go's packages for that system take 15 s
		}
		if other {
			t.Setenv("GOOS", "windows")
			t.Setenv("GOARCH", "arm64")
		}
		file, says := mustBuild(t, c.o, c.p)
		got, err := Inspect(file)
		if err != nil {
			t.Fatal(err)
		}
		fixes := ""
		if c.hook {
			fixes = oldHookFix
		}
		want := Binary{
			Program: "example.com/program/cmd/" + filepath.Base(c.o.Package), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			Record: Record{OPA: "1.5.0", Regometer: "(devel)", DropIn: all.dropIn.hash(), Plugin: c.plugin, Hook: c.hook, Fixes: fixes},
		}
		if other {
			want.Platform = "windows/arm64"
		}
		if *got != want || !strings.Contains(says, c.says) {
			t.Errorf("%s: %+v, want %+v\n%s", c.name, *got, want, says)
		}
		if other {
			if name := filepath.Base(file); name != "server.exe" {
				t.Errorf("the file is called %s", name)
			}
			t.Setenv("GOOS", "")
			t.Setenv("GOARCH", "")
			continue
		}
		if out := run(t, file); strings.Contains(out, "plugin P") != c.plugin || strings.Contains(out, "observed a/b") != c.hook || !strings.Contains(out, "A") {
			t.Errorf("%s: prints %s", c.name, out)
		}
	}

	plain := filepath.Join(t.TempDir(), "plain")
	goIn(t, dir, "build", "-o", plain, "./cmd/library")
	if got := inspect(t, plain); got != (Binary{Program: "example.com/program/cmd/library", Record: Record{OPA: "1.5.0"}}) {
		t.Errorf("as go build makes it: %+v", got)
	}
	program, err := OpenProgram(t.Context(), Options{Dir: dir, Package: "./cmd/library", with: &bare})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	checkError(t, "no record", program.check(plain, Record{}), "lacks the record of this build")
	goIn(t, dir, "build", "-o", plain, "./cmd/hello")
	_, err = Inspect(plain)
	checkError(t, "no OPA", err, "has no OPA inside: it is built from example.com/program/cmd/hello")
}

func TestBuildProgramRefuses(t *testing.T) {
	programProxy(t)
	dir := writeTree(t, programTree())
	goIn(t, dir, "mod", "tidy")
	old := writeTree(t, map[string]string{"go.mod": "module example.com/old\n\ngo 1.22\n\nrequire " + opaModule + " v0.70.0\n\nreplace " + opaModule + " => ./opa\n", "opa/go.mod": "module " + opaModule + "\n\ngo 1.22\n", "opa/ast/ast.go": "package ast\n", "main.go": "package main\n\nimport _ \"" + opaModule + "/ast\"\n\nfunc main() {}\n"})
	workspace := writeTree(t, map[string]string{"go.work": "go 1.22\n\nuse ./listed\n", "listed/go.mod": "module example.com/listed\n\ngo 1.22\n", "unlisted/go.mod": "module example.com/unlisted\n\ngo 1.22\n\nrequire " + opaModule + " v1.5.0\n"})
	unlisted := filepath.Join(workspace, "unlisted")
	before := readTree(t, dir)
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"no such folder", Options{Dir: filepath.Join(dir, "nothing")}, "there is no folder "},
		{"a file", Options{Dir: filepath.Join(dir, "go.mod")}, "there is no folder "},
		{"no module", Options{Dir: t.TempDir()}, "is not in a Go module"},
		{"no OPA", Options{Dir: writeTree(t, map[string]string{"go.mod": "module x\n\ngo 1.22\n"})}, "finds no package " + metricsPath + ", which OPA v1.0.0 and later have, for "},
		{"old OPA", Options{Dir: old}, "finds no package " + metricsPath + ", which OPA v1.0.0 and later have, for "},
		{"OPA itself", Options{Dir: writeTree(t, opaTree())}, "is OPA itself, "},
		{"no such package", Options{Dir: dir, Package: "./nothing"}, "the go command cannot build ./nothing: "},
		{"no flag", Options{Dir: dir, Package: "./cmd/library", Flags: []string{"special"}}, "package special is not in std"},
		{"cover", Options{Dir: dir, Package: "./cmd/library", Flags: []string{"-cover"}}, "leave out -cover"},
		{"not in the workspace", Options{Dir: unlisted, Package: "."}, "go.work"},
		{"a library", Options{Dir: dir, Package: "./lib"}, "./lib is package lib, not a main package"},
		{"no OPA inside", Options{Dir: dir, Package: "./cmd/hello"}, "./cmd/hello has no OPA inside"},
		{"another module's", Options{Dir: dir, Package: opaModule}, "is not in the module in "},
		{"all packages", Options{Dir: dir, Package: "./..."}, "not the name of one package"},
	} {
		_, _, err := tryBuild(t, c.o, tinyParts(t, "P"))
		checkError(t, c.name, err, c.want)
	}
	// A proxy that refuses a module is not the program's fault.
	proxy := strings.TrimPrefix(os.Getenv("GOPROXY"), "file://")
	for _, c := range []struct{ module, version, want string }{
		{"example.com/dep", "v1.0.0", "the go command cannot build ./cmd/server: example.com/dep@v1.0.0: reading file://"},
		{opaModule, "v1.5.0", "/go.mod: " + opaModule + "@v1.5.0: reading file://"},
	} {
		cache := t.TempDir()
		t.Cleanup(func() { _ = removeAll(cache) })
		t.Setenv("GOMODCACHE", cache)
		if err := os.Remove(filepath.Join(proxy, filepath.FromSlash(c.module), "@v", c.version+".zip")); err != nil {
			t.Fatal(err)
		}
		_, _, err := tryBuild(t, Options{Dir: dir, Package: "./cmd/server"}, tinyParts(t, "P"))
		checkError(t, c.module, err, c.want)
	}
	checkSameTree(t, dir, before)
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
	fix := Step{Name: "fix", files: map[string]*fileChange{"v1/fix_test.go": {}}} // of OPA's tests, which do not run
	o := Options{
		Dir: dir, Flags: []string{"-tags", "special", "-short", "-args", "mark"}, Progress: &says,
		with: &parts{dropIn: fakeDropIn("A"), steps: []Step{fix}},
	}
	r, err := Verify(t.Context(), VerifyOptions{Program: true, Options: o})
	if err != nil {
		t.Fatalf("%v\n%s", err, &says)
	}
	checkSameTree(t, dir, before)
	if len(r.Packages) != 2 || r.OK() || len(r.ChangedTests) > 0 {
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
	_, err = Verify(t.Context(), VerifyOptions{Program: true, Options: o, Packages: []string{"./cmd/library"}})
	checkError(t, "no tests", err, "no tests in ./cmd/library")
	_, err = Verify(t.Context(), VerifyOptions{Program: true, Options: o, Run: "("})
	checkError(t, "pattern", err, "--run: ")

	has := opaTree()
	has["v1/metrics/collection.go"] = "package metrics\n"
	goIn(t, dir, "mod", "edit", "-replace="+opaModule+"="+writeTree(t, has))
	_, err = Verify(t.Context(), VerifyOptions{Program: true, Options: o})
	checkError(t, "drop-in in its OPA", err, "has the drop-in already")
}

func TestReadFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, goflags  string
		mod, all, list string
		want           string
	}{
		{args: "-tags a,b -race -v", all: "-tags a,b -race -v", list: "-tags a,b -race"},
		{args: "-mod=vendor --tags=x", goflags: "-mod=mod", mod: "vendor", all: "--tags=x", list: "--tags=x"},
		{goflags: `-mod=mod "-ldflags=-s -w" '-tags=a b'`, mod: "mod"},
		{args: "-mod mod -short", mod: "mod", all: "-short"},
		{goflags: `'-overlay=a b'`, want: "the flag -overlay cannot"},
		{args: "-o x", want: "the flag -o cannot"},
		{args: "-count=2", want: "the flag -count cannot"},
		{args: "-C x", want: "the flag -C cannot"},
		{goflags: "-json", want: "the flag -json cannot"},
		{goflags: "-modfile=x", want: "the flag -modfile cannot"},
	} {
		b, err := readFlags(strings.Fields(c.args), c.goflags)
		checkError(t, c.args+c.goflags, err, c.want)
		if err != nil {
			continue
		}
		if all, list := strings.Join(b.all, " "), strings.Join(b.list(), " "); b.mod != c.mod || all != c.all || list != c.list {
			t.Errorf("%q, %q: %+v, to list %q", c.args, c.goflags, b, list)
		}
	}
}

// A program that has Regometer's plugin gets no second one.
func TestWantsPlugin(t *testing.T) {
	t.Parallel()
	deps := []string{metricsPath, opaModule + "/v1/runtime"}
	for _, own := range []bool{false, true} {
		if own {
			deps = append(deps, ourModule+"/opa/plugin")
		}
		if got := (mainPackage{Deps: deps}).wantsPlugin(progress{}); got == own {
			t.Errorf("%q: %t", deps, got)
		}
	}
}
