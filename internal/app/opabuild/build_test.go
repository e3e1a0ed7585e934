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
	"testing"
)

// mustBuild builds an OPA, and returns the path and the progress.
func mustBuild(t *testing.T, o Options, p parts) (path, says string) {
	t.Helper()
	var progress bytes.Buffer
	o.Progress = &progress
	path, err := buildWith(t.Context(), o, p)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	return path, progress.String()
}

// checkBuild builds an OPA in a folder, runs it and returns its path.
func checkBuild(t *testing.T, name, dir string, p parts, prints string, says ...string) string {
	t.Helper()
	path, progress := mustBuild(t, Options{OPA: dir}, p)
	if got := run(t, path); got != prints {
		t.Errorf("%s: prints %q, want %q", name, got, prints)
	}
	for _, want := range says {
		if !strings.Contains(progress, want) {
			t.Errorf("%s: does not say %q:\n%s", name, want, progress)
		}
	}
	if len(says) == 0 && progress != "" {
		t.Errorf("%s: built again:\n%s", name, progress)
	}
	return path
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
	if _, err := os.Stat(filepath.Join(cacheDir, "build")); !os.IsNotExist(err) {
		t.Errorf("the build left its folder: %v", err)
	}
	if path := checkBuild(t, "again", dir, a, "1.5.0  A"); path != first {
		t.Errorf("another path: %s", path)
	}
	// A damaged binary is not run for ever, and that is said.
	if err := os.Truncate(first, 1000); err != nil {
		t.Fatal(err)
	}
	checkBuild(t, "damaged", dir, a, "1.5.0  A", "warning: the binary in the cache is damaged", built)

	// Each side, and the choice between them, makes a new binary.
	checkBuild(t, "another drop-in", dir, b, "1.5.0  B", built)
	plain := checkBuild(t, "unmodified", dir, parts{}, "1.5.0  OPA", " as it is;", "built\n")
	if got := inspect(t, plain); got != (Binary{}) {
		t.Errorf("unmodified: %+v", got)
	}
	version, text := filepath.Join(dir, "v1/version/version.go"), opaTree()["v1/version/version.go"]
	writeText(t, version, strings.Replace(text, "1.5.0", "1.99.0-dev", 1))
	checkBuild(t, "another OPA", dir, a, "1.99.0-dev  A", "warning: OPA 1.99.0-dev is newer", built)

	// What a killed process leaves is not taken for a binary.
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	writeText(t, version, text)
	writeText(t, filepath.Join(cacheDir, "build", "1", "entry", "opa"), "half of a binary")
	if path := checkBuild(t, "after a killed build", dir, a, "1.5.0  A", built); path != first {
		t.Errorf("after a killed build: %s", path)
	}

	// A tree that was patched by hand has the drop-in's file, and no record.
	d := fakeDropIn("A")
	d["collection.go"] = append(d["collection.go"], "\nvar begun int\n\nfunc init() { begun++ }\n"...)
	now, err := goFiles(filepath.Join(dir, metricsDir))
	if err == nil {
		err = difference(now, d.replace(now)).apply(filepath.Join(dir, metricsDir))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, checkBuild(t, "by hand", dir, parts{}, "1.5.0  A", built)); got != (Binary{DropIn: Unknown}) {
		t.Errorf("patched by hand: %+v", got)
	}
}

// The plugin gets decisions by the hook or, if the hook does not fit, by the
// decision log. All sources decide on the binary.
func TestBuildPlugin(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree, ours := writeTree(t, opaTree()), writeTree(t, tinyPlugin("P"))
	before := readTree(t, tree)
	with := func() parts {
		return parts{dropIn: fakeDropIn("A"), plugin: mustFindPlugin(t, ours)}
	}
	want := Binary{OPA: "1.5.0", Regometer: "(devel)", DropIn: fakeDropIn("A").hash(), Plugin: true, Hook: true}
	const all = "OPA 1.5.0 has the drop-in, the plugin and the decision hook\n"
	first := checkBuild(t, "all", tree, with(), fmt.Sprintf(hookedPlugin, "P"), all)
	if got := inspect(t, first); got != want {
		t.Errorf("holds %+v, want %+v", got, want)
	}
	checkSameTree(t, tree, before)
	if settings := run(t, "go", "version", "-m", first); !strings.Contains(settings, "DefaultGODEBUG=") {
		t.Errorf("the defaults of GODEBUG are not those of OPA's go line:\n%s", settings)
	}
	writeText(t, filepath.Join(ours, "metrics", "metrics.go"), "package metrics\n\nconst Who = \"Q\"\n")
	checkBuild(t, "another plugin", tree, with(), fmt.Sprintf(hookedPlugin, "Q"), all)

	file, text := filepath.Join(tree, runtimeFile), opaTree()[runtimeFile]
	change, err := hookChange(tree)
	if err != nil {
		t.Fatal(err)
	}
	want.Hook = false
	const warning = "warning: no decision hook for OPA 1.5.0: "
	writeText(t, file, strings.Replace(text, "plugin == nil", "nil == plugin", 1))
	path := checkBuild(t, "another method", tree, with(), fmt.Sprintf(unhookedPlugin, "Q"), warning+"v1/runtime/runtime.go: there is no method decisionLogger")
	if got := inspect(t, path); got != want {
		t.Errorf("without the hook it holds %+v, want %+v", got, want)
	}
	writeText(t, file, strings.Replace(text, "\tdone bool", "\tobservers bool", 1))
	checkBuild(t, "does not compile", tree, with(), fmt.Sprintf(unhookedPlugin, "Q"), warning, "observers redeclared", "OPA 1.5.0 has the drop-in and the plugin\n")
	writeText(t, file, text)
	writeText(t, filepath.Join(tree, "v1/runtime/own.go"), "package runtime\n\ntype DecisionObserver interface{ M() }\n")
	checkBuild(t, "another hook of OPA's", tree, with(), fmt.Sprintf(unhookedPlugin, "Q"), warning, pluginFile)
	if err := errors.Join(os.Remove(filepath.Join(tree, "v1/runtime/own.go")), change.apply(tree)); err != nil {
		t.Fatal(err)
	}
	path = checkBuild(t, "OPA's own hook", tree, with(), fmt.Sprintf(hookedPlugin, "Q"), all)
	if got := inspect(t, path); !got.Hook {
		t.Errorf("with OPA's own hook it holds %+v", got)
	}

	// What OPA's modules lack is not fetched.
	writeText(t, filepath.Join(ours, "opa/plugin/more.go"), "package plugin\n\nimport _ \"example.com/more\"\n")
	checkBuild(t, "lacks", tree, with(), "1.5.0  A", "warning: without the plugin because it imports packages that the program's modules lack: example.com/more\n")
}

// A released regometer gets the plugin of its own version from the module
// proxy.
func TestBuildPluginVersion(t *testing.T) {
	const version = "v1.2.3"
	files := tinyPlugin("V")
	files["opa/go.mod"] = strings.ReplaceAll(files["opa/go.mod"], "v0.0.0", version)
	useProxy(t, func(proxy string) {
		for _, name := range pluginModules {
			own := map[string]string{}
			for file, text := range files {
				if rest, ok := strings.CutPrefix(file, name); ok && (name != "" || !strings.HasPrefix(file, "opa/") && !strings.HasPrefix(file, "prom/")) {
					own[strings.TrimPrefix(rest, "/")] = text
				}
			}
			publish(t, proxy, strings.TrimSuffix(ourModule+"/"+name, "/"), version, own)
		}
	})
	tree := writeTree(t, opaTree())
	p := parts{dropIn: fakeDropIn("A"), plugin: &plugin{version: version, content: "version " + version}}
	checkBuild(t, "released", tree, p, fmt.Sprintf(hookedPlugin, "V"), "built")
	p.plugin = &plugin{version: "v1.2.4", content: "version v1.2.4"}
	_, err := buildWith(t.Context(), Options{OPA: tree}, p)
	checkError(t, "no such version", err, "adding the plugin: cannot get the plugin of Regometer v1.2.4")
}

// The same sources make the same binary, wherever they and the cache are.
func TestBuildReproducible(t *testing.T) {
	var binaries [2][]byte
	for i := range binaries {
		t.Setenv("REGOMETER_CACHE", t.TempDir())
		path, _ := mustBuild(t, Options{OPA: writeTree(t, opaTree())}, parts{dropIn: fakeDropIn("A"), plugin: mustFindPlugin(t, writeTree(t, tinyPlugin("P")))})
		var err error
		if binaries[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(binaries[0], binaries[1]) {
		t.Error("two folders, two binaries")
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
	for n, who := range []string{"ONE STEP", "TWO STEPS"} {
		says := fmt.Sprintf(" with the series for OPA up to step %d;", n+1)
		path := checkBuild(t, who, dir, parts{steps: steps[:n+1]}, UpstreamVersion[1:]+"  "+who, says)
		if got, want := inspect(t, path), (Binary{OPA: UpstreamVersion[1:], Regometer: "(devel)", Upstream: n + 1}); got != want {
			t.Errorf("%s: the binary says %+v, want %+v", who, got, want)
		}
		paths[path] = true
	}
	checkSameTree(t, dir, before)

	// Another text of a step is another binary, another message is not.
	changed := fixtureSteps()
	changed["01-stop/message.txt"].Data = []byte("x")
	if path, says := mustBuild(t, Options{OPA: dir}, parts{steps: mustLoad(t, changed, files)}); !paths[path] {
		t.Errorf("another message: %s", says)
	}
	ours := changed["01-stop/v1/metrics/sample.go"]
	ours.Data = bytes.Replace(ours.Data, []byte("says so"), []byte("says it"), 1)
	if path, _ := mustBuild(t, Options{OPA: dir}, parts{steps: mustLoad(t, changed, files)[:1]}); paths[path] {
		t.Errorf("another text: %s", path)
	}

	files["v1/version/version.go"] = opaTree()["v1/version/version.go"]
	files["v1/metrics/sample.go"] = strings.Replace(files["v1/metrics/sample.go"], "OPA", "another OPA", 2)
	_, err := buildWith(t.Context(), Options{OPA: writeTree(t, files)}, parts{steps: steps})
	checkError(t, "another OPA", err, "step 1 (stop): v1/metrics/sample.go: (timer).Stop is not what the step was written for")
	checkError(t, "another OPA", err, "The series is written for OPA "+UpstreamVersion+", but this OPA is \"1.5.0\"")
}

// All that a build writes to may be links: their targets stay as they are.
func TestBuildLinks(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	dir, outside := writeTree(t, opaTree()), t.TempDir()
	link := func(to, name string) {
		t.Helper()
		if err := os.Rename(filepath.Join(dir, name), to); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"go.mod", "main.go", "v1/metrics/metrics.go", "v1/metrics/sample.go"} {
		link(filepath.Join(outside, filepath.Base(name)), name)
	}
	before, beforeOutside := readTree(t, dir), readTree(t, outside)
	checkBuild(t, "files", dir, parts{dropIn: fakeDropIn("A")}, "1.5.0  A", "built")
	checkSameTree(t, dir, before)
	checkSameTree(t, outside, beforeOutside)

	// The folder as a whole: inside of the tree, then outside.
	link(filepath.Join(dir, "elsewhere"), "v1/metrics")
	before = readTree(t, filepath.Join(dir, "elsewhere"))
	checkBuild(t, "a folder", dir, parts{dropIn: fakeDropIn("B")}, "1.5.0  B", "built")
	checkSameTree(t, filepath.Join(dir, "elsewhere"), before)
	metrics := filepath.Join(dir, "v1/metrics")
	if err := errors.Join(os.Remove(metrics), os.Symlink(outside, metrics)); err != nil {
		t.Fatal(err)
	}
	_, err := buildWith(t.Context(), Options{OPA: dir}, parts{dropIn: fakeDropIn("A")})
	checkError(t, "outside", err, "outside of the tree")
	checkSameTree(t, outside, beforeOutside)
}

// What is put into OPA decides on the binary, too.
func TestContent(t *testing.T) {
	p := parts{dropIn: fakeDropIn("A")}
	before, text := p.content(), hookText
	defer func() { hookText = text }()
	hookText = append(bytes.Clone(text), '\n')
	if p.content() == before {
		t.Error("another decision hook has the same key")
	}
	if (parts{}).content() != "" {
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
			path, err := buildWith(t.Context(), Options{OPA: dir}, parts{dropIn: fakeDropIn(who)})
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
	checkBuild(t, "unmodified", dir, parts{}, "1.5.0 "+head+" OPA", "built")
	checkBuild(t, "with the drop-in", dir, parts{dropIn: fakeDropIn("A")}, "1.5.0 "+head+"-dirty A", "built")
	if got := git("status", "--porcelain"); got != "" {
		t.Errorf("the checkout changed: %s", got)
	}
	writeText(t, filepath.Join(dir, "edited"), "")
	for _, c := range []struct {
		o                 Options
		version, revision string
	}{
		{Options{OPA: dir}, "1.5.0", head + "-dirty"},
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
	const user = "internal/user/user.go"
	mod := opaTree()["go.mod"]
	for _, c := range []struct {
		name, file, text string
		want             []string
	}{
		{"missing name", user, "package user\n\nimport \"" + metricsPath + "\"\n\nfunc Use() int { metrics.Unused(); return 0 }\n",
			[]string{"undefined: metrics.Unused", "supports OPA " + OldestVersion + " to " + NewestRange}},
		{"compile error", user, "package user\n\nfunc Use() int { return \"\" }\n", []string{"cannot use"}},
		{"too old", "v1/version/version.go", "package version\n\nvar Version = \"0.99.0\"\n", []string{"too old"}},
		{"outside", "go.mod", mod + "\nrequire a.b/c v1.0.0\n\nreplace a.b/c => ../c\n", []string{"../c"}},
		{"file there", buildFile, "package main\n", []string{buildFile, "rename it"}},
		{"not tidy", user, "package user\n\nimport _ \"a.b/c\"\n\nfunc Use() string { return \"\" }\n", []string{"a.b/c"}},
	} {
		files := opaTree()
		files[c.file] = c.text
		_, err := buildWith(t.Context(), Options{OPA: writeTree(t, files)}, parts{dropIn: fakeDropIn("A")})
		for _, want := range c.want {
			checkError(t, c.name, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "opa/v1/version\n") {
			t.Errorf("%s: the error lists the packages that compiled:\n%v", c.name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(cacheDir, "bin")); err == nil {
		t.Error("a failed build left a binary")
	}

	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	files := opaTree()
	files["go.mod"] += "\nrequire a.b/c v1.0.0\n"
	files["go.sum"] = "a.b/c v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\na.b/c v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
	files[user] = "package user\n\nimport _ \"a.b/c\"\n\nfunc Use() string { return \"\" }\n"
	_, err := buildWith(t.Context(), Options{OPA: writeTree(t, files)}, parts{dropIn: fakeDropIn("A")})
	checkError(t, "GOPROXY=off, with a folder", err, "Let GOPROXY name")
	if err != nil && strings.Contains(err.Error(), "--opa DIR") {
		t.Errorf("proposes what was done: %v", err)
	}
	_, err = buildWith(t.Context(), Options{}, parts{dropIn: fakeDropIn("A")})
	checkError(t, "GOPROXY=off", err, "--opa DIR")
	t.Setenv("PATH", t.TempDir())
	_, err = buildWith(t.Context(), Options{}, parts{dropIn: fakeDropIn("A")})
	checkError(t, "no Go", err, "install Go")
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
	_, err := buildWith(ctx, Options{OPA: writeTree(t, opaTree()), Progress: progress}, parts{dropIn: fakeDropIn("A")})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	allowed := regexp.MustCompile(`^(build|tree)\.lock$|^trees/\w+/(opa/|sum$)`)
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
			if b := inspect(t, path); "v"+b.OPA != version || b.DropIn != d.withoutTests().hash() || !b.Plugin || !b.Hook {
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
