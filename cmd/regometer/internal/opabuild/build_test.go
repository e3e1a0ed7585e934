// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// tryBuild builds an OPA, or the program in o.Dir, with these parts. It returns
// the path of the binary and the progress.
func tryBuild(t *testing.T, o Options, p parts) (path, says string, err error) {
	t.Helper()
	var progress bytes.Buffer
	o.Progress, o.with = &progress, &p
	if o.Dir == "" {
		path, err = Build(t.Context(), o)
		return path, progress.String(), err
	}
	program, err := OpenProgram(t.Context(), o)
	if err == nil {
		t.Cleanup(program.Close)
		path, err = program.Build(t.Context())
	}
	return path, progress.String(), err
}

// mustBuild is tryBuild of a build that must not fail.
func mustBuild(t *testing.T, o Options, p parts) (path, says string) {
	t.Helper()
	path, says, err := tryBuild(t, o, p)
	if err != nil {
		t.Fatalf("%v\n%s", err, says)
	}
	return path, says
}

// checkBuild builds an OPA in a folder, runs it and returns its path. Without
// says, the binary must come from the cache.
func checkBuild(t *testing.T, name, dir string, p parts, prints string, says ...string) string {
	t.Helper()
	path, progress := mustBuild(t, Options{OPA: dir}, p)
	if got := run(t, path); got != prints {
		t.Errorf("%s: prints %q, want %q", name, got, prints)
	}
	for _, want := range says {
		if !strings.Contains(progress, want) {
			t.Errorf("%s: the progress lacks %q:\n%s", name, want, progress)
		}
	}
	if len(says) == 0 && progress != "" {
		t.Errorf("%s: built again:\n%s", name, progress)
	}
	return path
}

// tinyParts are the fake drop-in A, the tiny plugin and its hook.
func tinyParts(t *testing.T, who string) parts {
	t.Helper()
	steps, err := fixes()
	if err != nil {
		t.Fatal(err)
	}
	p := parts{dropIn: fakeDropIn("A"), steps: steps, plugin: mustFindPlugin(t, writeTree(t, tinyPlugin(who)))}
	p.leaveOut(fixNames...)
	return p
}

func TestBuild(t *testing.T) {
	cacheDir := t.TempDir()
	t.Setenv("REGOMETER_CACHE", cacheDir)
	dir := writeTree(t, opaTree())
	before := readTree(t, dir)
	a, b := parts{dropIn: fakeDropIn("A")}, parts{dropIn: fakeDropIn("B")}
	const built = "building "
	first := checkBuild(t, "the drop-in", dir, a, "1.5.0  A", built, "built and checked: OPA 1.5.0 has the drop-in\n")
	checkSameTree(t, dir, before)
	if _, err := os.Stat(filepath.Join(cacheDir, "new-bin")); !os.IsNotExist(err) {
		t.Errorf("the build left its folder: %v", err)
	}
	if path := checkBuild(t, "again", dir, a, "1.5.0  A"); path != first {
		t.Errorf("another path: %s", path)
	}
	// Each side, and the choice between them, makes a new binary.
	checkBuild(t, "another drop-in", dir, b, "1.5.0  B", built)
	plain := checkBuild(t, "unmodified", dir, parts{}, "1.5.0  OPA", " as it is;", "built\n")
	if got := inspect(t, plain); got != (Binary{}) {
		t.Errorf("unmodified: %+v", got)
	}
	version, text := filepath.Join(dir, "v1/version/version.go"), opaTree()["v1/version/version.go"]
	writeText(t, version, strings.Replace(text, "1.5.0", "1.99.0-dev", 1))
	checkBuild(t, "another OPA", dir, a, "1.99.0-dev  A", "warning: OPA 1.99.0-dev is newer", built)

	// The files that a killed process leaves are not taken for a binary.
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	writeText(t, version, text)
	writeText(t, filepath.Join(cacheDir, "new-bin", "1", "entry", "opa"), "half of a binary")
	if path := checkBuild(t, "after a killed build", dir, a, "1.5.0  A", built); path != first {
		t.Errorf("after a killed build: %s", path)
	}

	// A tree that was patched by hand has the drop-in's file, and no record.
	d := fakeDropIn("A")
	d["collection.go"] = append(d["collection.go"], "\nvar begun int\n\nfunc init() { begun++ }\n"...)
	change, err := parts{dropIn: d}.change(dir)
	if err == nil {
		err = change.apply(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, checkBuild(t, "by hand", dir, parts{}, "1.5.0  A", built)); got != (Binary{Record: Record{DropIn: Unknown}}) {
		t.Errorf("patched by hand: %+v", got)
	}
}

// The plugin gets decisions by the hook or, if the hook does not fit, by the
// decision log. All sources decide on the binary.
func TestBuildPlugin(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree := writeTree(t, opaTree())
	before := readTree(t, tree)
	p := tinyParts(t, "P")
	want := Binary{Record: Record{OPA: "1.5.0", Regometer: "(devel)", DropIn: p.dropIn.hash(), Plugin: true, Hook: true, Fixes: oldHookFix}}
	const all = "OPA 1.5.0 has the drop-in, the fixes observed-decisions, the plugin and the decision hook\n"
	first := checkBuild(t, "all", tree, p, fmt.Sprintf(hookedPlugin, "P"), all)
	if got := inspect(t, first); got != want {
		t.Errorf("holds %+v, want %+v", got, want)
	}
	checkSameTree(t, tree, before)
	if settings := run(t, "go", "version", "-m", first); !strings.Contains(settings, "DefaultGODEBUG=") {
		t.Errorf("the defaults of GODEBUG differ from those of OPA's go line:\n%s", settings)
	}
	p = tinyParts(t, "Q")
	checkBuild(t, "another plugin", tree, p, fmt.Sprintf(hookedPlugin, "Q"), all)
	want.Hook, want.Fixes = false, ""
	const warning = "warning: no decision hook for OPA 1.5.0: "
	for _, c := range []struct {
		name, file, old, text string
		says                  []string
	}{
		{"another method", runtimeFile, "plugin == nil", "nil == plugin", []string{warning + "its server differs"}},
		{"another hook of OPA's", "v1/runtime/own.go", "", "package runtime\n\nfunc ObserveDecision() {}\n", []string{warning, "ObserveDecision redeclared", "OPA 1.5.0 has the drop-in and the plugin\n"}},
	} {
		files := opaTree()
		files[c.file] = strings.Replace(files[c.file], c.old, c.text, 1)
		path := checkBuild(t, c.name, writeTree(t, files), p, fmt.Sprintf(unhookedPlugin, "Q"), c.says...)
		if got := inspect(t, path); got != want {
			t.Errorf("%s: it holds %+v, want %+v", c.name, got, want)
		}
	}

	// The same sources make the same binary, wherever they and the cache are.
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	second, _ := mustBuild(t, Options{OPA: writeTree(t, opaTree())}, tinyParts(t, "P"))
	a, errA := os.ReadFile(first)
	b, errB := os.ReadFile(second)
	if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
		t.Errorf("two folders, two binaries; error %v", err)
	}

	// A package that OPA's modules lack is not fetched.
	ours := tinyPlugin("P")
	ours["opa/plugin/more.go"] = "package plugin\n\nimport _ \"example.com/more\"\n"
	p.plugin = mustFindPlugin(t, writeTree(t, ours))
	checkBuild(t, "lacks", tree, p, "1.5.0  A", "warning: without the plugin because it imports packages that the program's modules lack: example.com/more\n")
}

// The written source is that of the build. It takes the place of an empty
// folder, and of nothing else.
func TestWriteSource(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree, out := writeTree(t, opaTree()), t.TempDir()
	before := readTree(t, tree)
	p := tinyParts(t, "P")
	o := Options{OPA: tree, with: &p}
	file := filepath.Join(t.TempDir(), "file")
	writeText(t, file, "mine")
	checkError(t, "a file", WriteSource(t.Context(), o, file), "name a new or empty folder")
	checkSameTree(t, filepath.Dir(file), map[string]string{"file": "-rw-r--r--\nmine"})
	t.Chdir(out)
	for _, dir := range []string{"new", t.TempDir()} {
		if err := WriteSource(t.Context(), o, dir); err != nil {
			t.Fatal(err)
		}
		if got, want := run(t, "go", "-C", dir, "run", "."), fmt.Sprintf(hookedPlugin, "P"); got != want {
			t.Errorf("prints %q, want %q", got, want)
		}
		got := readTree(t, dir)
		for name, text := range before {
			if got[name] != text && name != runtimeFile && !strings.HasPrefix(name, metricsDir) {
				t.Errorf("%s changed", name)
			}
		}
		checkError(t, "again", WriteSource(t.Context(), o, dir), "name a new or empty folder")
		_, err := Verify(t.Context(), VerifyOptions{Options: Options{OPA: dir, with: &parts{dropIn: p.dropIn}}})
		checkError(t, "verified", err, "has the drop-in already")
		checkSameTree(t, dir, got)
	}
	o.with = &parts{dropIn: fakeDropIn("A"), steps: p.steps, plugin: &plugin{version: "v0.0.0-none"}}
	if err := WriteSource(t.Context(), o, filepath.Join(out, "failed")); err == nil {
		t.Error("a build that fails writes its source")
	}
	checkSameTree(t, tree, before)
	if entries, err := os.ReadDir(out); len(entries) != 1 {
		t.Errorf("beside the source there are %v, %v", entries, err)
	}
}

// A local build has the settings of this program, runs here, and is another
// binary.
func TestBuildLocal(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree := writeTree(t, opaTree())
	plain, _ := mustBuild(t, Options{OPA: tree}, parts{})
	t.Setenv("GOARCH", "arm")
	local, _ := mustBuild(t, Options{OPA: tree, Local: true}, parts{})
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	setting := func(file, name string) string {
		for line := range strings.Lines(run(t, "go", "version", "-m", file)) {
			if _, value, ok := strings.Cut(line, name+"="); ok {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	for _, name := range []string{"CGO_ENABLED", "-trimpath", "GOARCH"} {
		if got, want := setting(local, name), setting(own, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if setting(plain, "CGO_ENABLED") != "0" || setting(plain, "-trimpath") != "true" || plain == local {
		t.Errorf("%s depends on this machine", plain)
	}
}

// A released regometer gets the plugin of its own version from the module
// proxy.
func TestBuildPluginVersion(t *testing.T) {
	const version = "v1.2.3"
	files := tinyPlugin("V")
	files["opa/go.mod"] = strings.ReplaceAll(files["opa/go.mod"], "v0.0.0", version)
	useProxy(t, func(proxy string) {
		modules := map[string]map[string]string{"": {}, "opa": {}, "prom": {}}
		for file, text := range files {
			if module, rest, _ := strings.Cut(file, "/"); modules[module] != nil {
				modules[module][rest] = text
			} else {
				modules[""][file] = text
			}
		}
		for name, own := range modules {
			publish(t, proxy, strings.TrimSuffix(ourModule+"/"+name, "/"), version, own)
		}
	})
	tree := writeTree(t, opaTree())
	p := tinyParts(t, "P")
	p.plugin = &plugin{version: version, content: "version " + version}
	checkBuild(t, "released", tree, p, fmt.Sprintf(hookedPlugin, "V"), "built")
	p.plugin = &plugin{version: "v1.2.4", content: "version v1.2.4"}
	_, err := Build(t.Context(), Options{OPA: tree, with: &p})
	checkError(t, "no such version", err, "adding the plugin: cannot get the plugin of Regometer v1.2.4")
}

// An OPA with steps of the series has neither drop-in nor plugin, and says so.
func TestBuildUpstream(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps())
	dir := writeTree(t, files)
	before := readTree(t, dir)
	paths := map[string]bool{}
	for n, who := range []string{"ONE STEP", "TWO STEPS"} {
		says := fmt.Sprintf(" with the series for OPA up to step %d;", n+1)
		path := checkBuild(t, who, dir, parts{steps: steps[:n+1]}, NewestVersion[1:]+"  "+who, says)
		if got, want := inspect(t, path), (Binary{Record: Record{OPA: NewestVersion[1:], Regometer: "(devel)", Upstream: n + 1}}); got != want {
			t.Errorf("%s: the binary says %+v, want %+v", who, got, want)
		}
		paths[path] = true
	}
	checkSameTree(t, dir, before)

	// Another text of a step is another binary, another message is not.
	changed := fixtureSteps()
	changed["01-stop/message.txt"].Data = []byte("x")
	if path, says := mustBuild(t, Options{OPA: dir}, parts{steps: mustLoad(t, changed)}); !paths[path] {
		t.Errorf("another message: %s", says)
	}
	ours := changed["01-stop/changes.txt"]
	ours.Data = bytes.Replace(ours.Data, []byte("says so"), []byte("says it"), 1)
	if path, _ := mustBuild(t, Options{OPA: dir}, parts{steps: mustLoad(t, changed)[:1]}); paths[path] {
		t.Errorf("another text: %s", path)
	}

	files["v1/version/version.go"] = opaTree()["v1/version/version.go"]
	files["v1/metrics/sample.go"] = strings.Replace(files["v1/metrics/sample.go"], "OPA", "another OPA", 2)
	_, err := Build(t.Context(), Options{OPA: writeTree(t, files), with: &parts{steps: steps}})
	checkError(t, "another OPA", err, "step 1 (stop): v1/metrics/sample.go: (timer).Stop is not what the step was written for")
	checkError(t, "another OPA", err, "The series is written for OPA "+NewestVersion+", but this OPA is \"1.5.0\"")
}

func TestBuildAtOnce(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	dir := writeTree(t, opaTree())
	var wg sync.WaitGroup
	var built atomic.Int32
	for i := range 6 {
		wg.Go(func() {
			who := string("AB"[i%2])
			path, says, err := tryBuild(t, Options{OPA: dir}, parts{dropIn: fakeDropIn(who)})
			built.Add(int32(strings.Count(says, "building ")))
			if err != nil {
				t.Error(err)
			} else if got := run(t, path); got != "1.5.0  "+who {
				t.Errorf("prints %q", got)
			}
		})
	}
	wg.Wait()
	if n := built.Load(); n != 2 {
		t.Errorf("%d builds of two binaries", n)
	}
}

// In a checkout `opa version` shows the commit, as if Go built it there.
func TestBuildCheckout(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	dir := writeTree(t, opaTree())
	git := func(args ...string) string {
		return run(t, "git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	head := git("rev-parse", "HEAD")
	checkBuild(t, "unmodified", dir, parts{}, "1.5.0 "+head+" OPA", "built")
	checkBuild(t, "with the drop-in", dir, parts{dropIn: fakeDropIn("A")}, "1.5.0 "+head+"-dirty A", "built")
	if got := git("status", "--porcelain"); got != "" {
		t.Errorf("the checkout changed: %s", got)
	}
	writeText(t, filepath.Join(dir, "edited"), "")
	checkBuild(t, "edited", dir, parts{}, "1.5.0 "+head+"-dirty OPA", "built")
}

// A failed build names its cause and leaves no binary.
func TestBuildFails(t *testing.T) {
	cacheDir := t.TempDir()
	t.Setenv("REGOMETER_CACHE", cacheDir)
	for _, c := range []struct{ name, file, text, want string }{
		{"missing name", "internal/user/user.go", "package user\n\nimport \"" + metricsPath + "\"\n\nfunc Use() int { metrics.Unused(); return 0 }\n",
			"undefined: metrics.Unused\nThe drop-in supports OPA " + OldestVersion + " to " + NewestRange},
		{"too old", "v1/version/version.go", "package version\n\nvar Version = \"0.99.0\"\n", "too old"},
		{"file there", buildFile, "package main\n", "holds a file " + buildFile},
	} {
		files := opaTree()
		files[c.file] = c.text
		_, _, err := tryBuild(t, Options{OPA: writeTree(t, files)}, parts{dropIn: fakeDropIn("A")})
		checkError(t, c.name, err, c.want)
	}
	if _, err := os.Stat(filepath.Join(cacheDir, "bin")); err == nil {
		t.Error("a failed build left a binary")
	}
}

func TestBuildCancelled(t *testing.T) {
	cacheDir := t.TempDir()
	t.Setenv("REGOMETER_CACHE", cacheDir)
	ctx, cancel := context.WithCancel(t.Context())
	// Cancels when the compiler starts.
	progress := writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("building")) {
			cancel()
		}
		return len(b), nil
	})
	_, err := Build(ctx, Options{OPA: writeTree(t, opaTree()), Progress: progress, with: &parts{dropIn: fakeDropIn("A")}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	allowed := regexp.MustCompile(`^new-(bin|trees)\.lock$|^trees/\w+/(opa/|sum$)`)
	for name := range readTree(t, cacheDir) {
		if !allowed.MatchString(name) {
			t.Errorf("left %s", name)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestBuildOPA builds the real OPA, the first and the last release that are
// supported.
func TestBuildOPA(t *testing.T) {
	if !slow {
		t.Skip("builds OPA for minutes: make test-slow")
	}
	for _, version := range []string{OldestVersion, NewestVersion} {
		t.Run(version, func(t *testing.T) {
			path, err := Build(t.Context(), Options{OPA: version, Progress: t.Output()})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := run(t, path, "version"), "Version: "+version[1:]+"\n"; !strings.HasPrefix(got, want) {
				t.Errorf("opa version prints\n%s", got)
			}
			settings := run(t, "go", "version", "-m", path)
			if strings.Contains(settings, "-tags=opa_wasm") != (version == NewestVersion) || !strings.Contains(settings, "CGO_ENABLED=0") {
				t.Errorf("built with other settings:\n%s", settings)
			}
			if b := inspect(t, path); "v"+b.OPA != version || b.DropIn != DropInHash() || !b.Plugin || !b.Hook {
				t.Errorf("the binary says of itself %+v", b)
			}
			// The plugin is there: it refuses a configuration, by OPA's own
			// exit status.
			out, err := exec.CommandContext(t.Context(), path, "run", "--server", "--addr", "127.0.0.1:0", "--set", "plugins.regometer.max_path=1").CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), `plugins.regometer: unknown key "max_path"`) {
				t.Errorf("with a wrong configuration of the plugin: %v\n%s", err, out)
			}
			got := run(t, path, "eval", "--metrics", "--format=json", "1 + 2")
			for _, want := range []string{`"value": 3`, `"timer_rego_query_eval_ns": `} {
				if !strings.Contains(got, want) {
					t.Errorf("opa eval --metrics prints no %s:\n%s", want, got)
				}
			}
		})
	}
}
