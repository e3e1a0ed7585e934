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
	"slices"
	"strings"
	"sync"
	"testing"
)

// run returns what a program prints.
func run(t *testing.T, binary string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", binary, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// mustBuild builds, and returns the path and whether anything was compiled.
func mustBuild(t *testing.T, o Options, d dropIn) (path string, compiled bool) {
	t.Helper()
	var progress bytes.Buffer
	o.Progress = &progress
	path, err := buildWith(t.Context(), o, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return path, strings.Contains(progress.String(), "building")
}

func TestBuild(t *testing.T) {
	cacheDir := t.TempDir()
	t.Setenv("REGOMETER_CACHE", cacheDir)
	dir := writeTree(t, opaTree())
	before := readTree(t, dir)
	o := Options{OPA: dir}

	first, compiled := mustBuild(t, o, tinyDropIn("A"))
	if got := run(t, first); !compiled || got != "1.5.0  A" {
		t.Errorf("compiled: %t, prints %q", compiled, got)
	}
	checkSameTree(t, dir, before)
	if _, err := os.Stat(filepath.Join(cacheDir, "build")); !os.IsNotExist(err) {
		t.Errorf("the build left its folder: %v", err)
	}
	if path, compiled := mustBuild(t, o, tinyDropIn("A")); compiled || path != first {
		t.Errorf("built again: %t, %s", compiled, path)
	}

	// A damaged binary is not run for ever, and that is said.
	if err := os.Truncate(first, 1000); err != nil {
		t.Fatal(err)
	}
	var warnings bytes.Buffer
	path, err := buildWith(t.Context(), Options{OPA: dir, Progress: &warnings}, tinyDropIn("A"), nil)
	if err != nil || path != first || run(t, path) != "1.5.0  A" || !strings.Contains(warnings.String(), "warning: the binary in the cache is damaged") {
		t.Errorf("a damaged binary became %s, %v\n%s", path, err, &warnings)
	}

	// Each side, and the choice between them, makes a new binary.
	if path, compiled := mustBuild(t, o, tinyDropIn("B")); !compiled || run(t, path) != "1.5.0  B" {
		t.Errorf("another drop-in: compiled %t, prints %q", compiled, run(t, path))
	}
	if path, compiled := mustBuild(t, o, nil); !compiled || run(t, path) != "1.5.0  OPA" {
		t.Errorf("unmodified: compiled %t, prints %q", compiled, run(t, path))
	}
	version := filepath.Join(dir, "v1", "version", "version.go")
	text, err := os.ReadFile(version)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, version, strings.Replace(string(text), "1.5.0", "1.5.1", 1))
	if path, compiled := mustBuild(t, o, tinyDropIn("A")); !compiled || run(t, path) != "1.5.1  A" {
		t.Errorf("another OPA: compiled %t, prints %q", compiled, run(t, path))
	}

	// What a killed process leaves is not taken for a binary.
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	writeText(t, version, string(text))
	writeText(t, filepath.Join(cacheDir, "build", "1", "opa"), "half of a binary")
	if path, compiled := mustBuild(t, o, tinyDropIn("A")); !compiled || path != first || run(t, path) != "1.5.0  A" {
		t.Errorf("after a killed build: compiled %t, %s", compiled, path)
	}
}

// An OPA with steps of the series has neither drop-in nor plugin, and says so.
func TestBuildUpstream(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps(), files)
	dir := writeTree(t, files)
	before := readTree(t, dir)
	paths := map[string]bool{}
	for n, want := range []string{"OPA", "ONE STEP", "TWO STEPS"} {
		var progress bytes.Buffer
		path, err := buildWith(t.Context(), Options{OPA: dir, Progress: &progress}, nil, nil, steps[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, path); got != UpstreamVersion[1:]+"  "+want {
			t.Errorf("%d steps: prints %q", n, got)
		}
		wantBinary := Binary{OPA: UpstreamVersion[1:], Regometer: "(devel)", Upstream: n}
		if n == 0 {
			wantBinary = Binary{}
		}
		if got := inspect(t, path); got != wantBinary {
			t.Errorf("%d steps: the binary says %+v, want %+v", n, got, wantBinary)
		}
		if n > 0 && !strings.Contains(progress.String(), fmt.Sprintf(" with the series for OPA up to step %d;", n)) {
			t.Errorf("%d steps: says\n%s", n, &progress)
		}
		paths[path] = true
	}
	if len(paths) != 3 {
		t.Errorf("three builds are in %v", paths)
	}
	checkSameTree(t, dir, before)

	// Another text of a step is another binary, another message is not.
	changed := fixtureSteps()
	changed["01-stop/message.txt"].Data = []byte("x")
	if path, err := buildWith(t.Context(), Options{OPA: dir}, nil, nil, mustLoad(t, changed, files)...); err != nil || !paths[path] {
		t.Errorf("another message: %s, %v", path, err)
	}
	ours := changed["01-stop/v1/metrics/sample.go"]
	ours.Data = bytes.Replace(ours.Data, []byte("says so"), []byte("says it"), 1)
	if path, err := buildWith(t.Context(), Options{OPA: dir}, nil, nil, mustLoad(t, changed, files)[0]); err != nil || paths[path] {
		t.Errorf("another text: %s, %v", path, err)
	}

	files["v1/version/version.go"] = opaTree()["v1/version/version.go"]
	files["v1/metrics/sample.go"] = strings.Replace(files["v1/metrics/sample.go"], "OPA", "another OPA", 2)
	_, err := buildWith(t.Context(), Options{OPA: writeTree(t, files)}, nil, nil, steps...)
	checkError(t, "another OPA", err, "step 1 (stop): v1/metrics/sample.go: (timer).Stop is not what the step was written for")
	checkError(t, "another OPA", err, "The series is written for OPA "+UpstreamVersion+", but this OPA is \"1.5.0\"")
}

// All that a build writes to may be links: what they lead to stays as it is.
func TestBuildLinks(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	dir, outside := writeTree(t, opaTree()), t.TempDir()
	for _, name := range []string{"go.mod", "main.go", "v1/metrics/metrics.go", "v1/metrics/sample.go"} {
		away := filepath.Join(outside, filepath.Base(name))
		if err := os.Rename(filepath.Join(dir, name), away); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(away, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	before, beforeOutside := readTree(t, dir), readTree(t, outside)
	if path, _ := mustBuild(t, Options{OPA: dir}, tinyDropIn("A")); run(t, path) != "1.5.0  A" {
		t.Errorf("prints %q", run(t, path))
	}
	checkSameTree(t, dir, before)
	checkSameTree(t, outside, beforeOutside)

	// The folder as a whole: inside of the tree, then outside.
	metrics := filepath.Join(dir, "v1", "metrics")
	if err := os.Rename(metrics, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), metrics); err != nil {
		t.Fatal(err)
	}
	before = readTree(t, filepath.Join(dir, "elsewhere"))
	if path, _ := mustBuild(t, Options{OPA: dir}, tinyDropIn("B")); run(t, path) != "1.5.0  B" {
		t.Errorf("prints %q", run(t, path))
	}
	checkSameTree(t, filepath.Join(dir, "elsewhere"), before)
	if err := os.Remove(metrics); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, metrics); err != nil {
		t.Fatal(err)
	}
	_, err := buildWith(t.Context(), Options{OPA: dir}, tinyDropIn("A"), nil)
	checkError(t, "outside", err, "outside of the tree")
	checkSameTree(t, outside, beforeOutside)
}

// What is put into OPA decides on the binary, too.
func TestKey(t *testing.T) {
	b := builder{dropIn: tinyDropIn("A")}
	before, text := b.key(t.Context()), hookText
	defer func() { hookText = text }()
	hookText = slices.Concat(text, []byte("\n"))
	if b.key(t.Context()) == before {
		t.Error("another decision hook has the same key")
	}
	b.dropIn = nil
	unmodified := b.key(t.Context())
	hookText = text
	if b.key(t.Context()) != unmodified {
		t.Error("the decision hook counts for an unmodified OPA")
	}
}

func TestBuildAtOnce(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	dir := writeTree(t, opaTree())
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			who := string("AB"[i%2])
			path, err := buildWith(t.Context(), Options{OPA: dir}, tinyDropIn(who), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if out, err := exec.CommandContext(t.Context(), path).Output(); string(out) != "1.5.0  "+who+"\n" {
				t.Errorf("prints %q, %v", out, err)
			}
		})
	}
	wg.Wait()
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
	o := Options{OPA: dir}
	for _, c := range []struct {
		unmodified bool
		want       string
	}{{true, head + " OPA"}, {false, head + "-dirty A"}} {
		d := tinyDropIn("A")
		if c.unmodified {
			d = nil
		}
		path, _ := mustBuild(t, o, d)
		if got := run(t, path); got != "1.5.0 "+c.want {
			t.Errorf("prints %q, want %q", got, c.want)
		}
	}
	if got := git("status", "--porcelain"); got != "" {
		t.Errorf("the checkout changed: %s", got)
	}
	writeText(t, filepath.Join(dir, "edited"), "")
	for _, c := range []struct {
		o                 Options
		version, revision string
	}{
		{o, "1.5.0", head + "-dirty"},
		{Options{OPA: writeTree(t, opaTree())}, "1.5.0", ""},
		{Options{OPA: "1.4.2"}, "1.4.2", "v1.4.2"},
		{Options{}, NewestVersion[1:], NewestVersion},
		{Options{Upstream: AllSteps}, UpstreamVersion[1:], UpstreamVersion},
	} {
		if version, revision, err := SourceOf(t.Context(), c.o); err != nil || version != c.version || revision != c.revision {
			t.Errorf("%+v is %q, %q, %v, want %q, %q", c.o, version, revision, err, c.version, c.revision)
		}
	}
}

func TestBuildFailures(t *testing.T) {
	cacheDir := t.TempDir()
	t.Setenv("REGOMETER_CACHE", cacheDir)
	build := func(files map[string]string, o Options) error {
		o.OPA = writeTree(t, files)
		_, err := buildWith(t.Context(), o, tinyDropIn("A"), nil)
		if _, err := os.Stat(filepath.Join(cacheDir, "bin")); err == nil {
			t.Error("a failed build left a binary")
		}
		return err
	}
	files := opaTree()
	files["internal/user/user.go"] = "package user\n\nimport \"github.com/open-policy-agent/opa/v1/metrics\"\n\nfunc Use() int { metrics.Unused(); return 0 }\n"
	err := build(files, Options{})
	checkError(t, "missing name", err, "undefined: metrics.Unused")
	checkError(t, "missing name", err, "supports OPA "+OldestVersion+" to "+NewestRange)
	files["internal/user/user.go"] = "package user\n\nfunc Use() int { return \"\" }\n"
	err = build(files, Options{})
	checkError(t, "compile error", err, "cannot use")
	if text := err.Error(); strings.Contains(text, "opa/v1/version\n") {
		t.Errorf("the error lists the packages that compiled:\n%s", text)
	}
	files = opaTree()
	files["v1/version/version.go"] = "package version\n\nvar Version = \"0.99.0\"\n"
	checkError(t, "too old", build(files, Options{}), "too old")
	files["v1/version/version.go"] = "package version\n\nvar Version = \"1.5.0\"\n"
	files["go.mod"] += "\nrequire a.b/c v1.0.0\n\nreplace a.b/c => ../c\n"
	checkError(t, "outside", build(files, Options{}), "../c")

	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	files = opaTree()
	files["go.mod"] += "\nrequire a.b/c v1.0.0\n"
	files["internal/user/user.go"] = "package user\n\nimport _ \"a.b/c\"\n\nfunc Use() string { return \"\" }\n"
	err = build(files, Options{})
	checkError(t, "GOPROXY=off, with a folder", err, "Let GOPROXY name")
	if strings.Contains(err.Error(), "--opa DIR") {
		t.Errorf("proposes what was done: %v", err)
	}
	_, err = buildWith(t.Context(), Options{}, tinyDropIn("A"), nil)
	checkError(t, "GOPROXY=off", err, "--opa DIR")
	t.Setenv("PATH", t.TempDir())
	_, err = buildWith(t.Context(), Options{}, tinyDropIn("A"), nil)
	checkError(t, "no Go", err, "install Go")
}

func TestBuildNewer(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	files := opaTree()
	files["v1/version/version.go"] = "package version\n\nvar Version = \"1.99.0-dev\"\n\nvar Vcs = \"\"\n"
	var progress bytes.Buffer
	path, err := buildWith(t.Context(), Options{OPA: writeTree(t, files), Progress: &progress}, tinyDropIn("A"), nil)
	if err != nil || run(t, path) != "1.99.0-dev  A" || !strings.Contains(progress.String(), "warning: OPA 1.99.0-dev is newer") {
		t.Errorf("%v\n%s", err, &progress)
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
	_, err := buildWith(ctx, Options{OPA: writeTree(t, opaTree()), Progress: progress}, tinyDropIn("A"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for name := range readTree(t, cacheDir) {
		if name != "build.lock" {
			t.Errorf("left %s", name)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestBuildOPA builds the real OPA, the first and the last release that are
// supported.
func TestBuildOPA(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
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
			// A binary names the source files of its functions.
			binary, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := loadDropIn()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"collection.go", "timer.go", "sample.go"} {
				if has := bytes.Contains(binary, []byte(metricsPath+"/"+name)); has != (d[name] != nil) {
					t.Errorf("the binary has code of %s: %t", name, has)
				}
			}
			if b := inspect(t, path); "v"+b.OPA != version || b.DropIn != d.hash() || !b.Plugin || !b.Hook {
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
