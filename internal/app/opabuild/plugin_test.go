// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/gotool"
)

// tinyPlugin returns the files of a checkout whose plugin prints who it is,
// what it is handed by the binary, and each decision.
func tinyPlugin(who string) map[string]string {
	return map[string]string{
		"go.mod":               "module " + ourModule + "\n\ngo 1.25\n",
		"metrics/metrics.go":   "package metrics\n\nconst Who = \"" + who + "\"\n",
		"exphist/exphist.go":   "package exphist\n",
		"rollup/rollup.go":     "package rollup\n\nimport _ \"" + ourModule + "/internal/stages\"\n\ntype Number struct {\n\tKey   string\n\tValue int64\n}\n",
		"internal/stages/s.go": "package stages\n",
		"internal/grid/g.go":   "package grid\n",
		"prom/go.mod":          "module " + ourModule + "/prom\n\ngo 1.25\n",
		"prom/prom.go":         "package prom\n",
		"opa/go.mod":           "module " + ourModule + "/opa\n\ngo 1.25\n\nrequire " + ourModule + " v0.0.0\n",
		"opa/go.sum":           "",
		"opa/plugin/plugin.go": `package plugin

import (
	"context"
	"fmt"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"

	"` + ourModule + `/metrics"
	"` + ourModule + `/rollup"
)

const Name = "tiny"

type Factory struct {
	Numbers  func([]rollup.Number, opa.Metrics) []rollup.Number
	Observed func(context.Context, *Plugin) bool
	Build    Build
}

type Build struct{ Version, DropIn, OPA string }

func (f Factory) New() plugins.Plugin {
	fmt.Printf("plugin %s of %s with %d bytes of hash in %s, %v, ", metrics.Who, f.Build.Version, len(f.Build.DropIn), f.Build.OPA, f.Numbers(nil, nil))
	return &Plugin{f}
}

type Plugin struct{ f Factory }

func (*Plugin) Name() string { return Name }

func (p *Plugin) ObserveDecision(_ context.Context, info *server.Info) { fmt.Printf("observed %s, ", info.Path) }

func (p *Plugin) Log(ctx context.Context, info *server.Info) error {
	known := p.f.Observed != nil && p.f.Observed(ctx, p)
	fmt.Printf("logged %s, observed: %t, ", info.Path, known)
	return nil
}
`,
	}
}

// Whether the decision hook is there or not, the plugin works.
const (
	hookedPlugin   = "plugin %s of (devel) with 12 bytes of hash in 1.5.0, [{counter_x 1} {timer_x_ns 3}], observed a/b, logged a/b, observed: true, 1.5.0  A"
	unhookedPlugin = "plugin %s of (devel) with 12 bytes of hash in 1.5.0, [{counter_x 1} {timer_x_ns 3}], logged a/b, observed: false, 1.5.0  A"
)

func mustFindPlugin(t *testing.T, dir string) *plugin {
	t.Helper()
	if !isCheckout(dir) {
		t.Fatalf("%s is no checkout", dir)
	}
	p, err := checkoutPlugin(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuildPlugin(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree := writeTree(t, runtimeTree())
	before := readTree(t, tree)
	ours := writeTree(t, tinyPlugin("P"))
	build := func() (path, progress string) {
		t.Helper()
		var b bytes.Buffer
		path, err := buildWith(t.Context(), Options{OPA: tree, Progress: &b}, eachDropIn("A"), mustFindPlugin(t, ours))
		if err != nil {
			t.Fatal(err)
		}
		return path, b.String()
	}
	first, progress := build()
	if got, want := run(t, first), fmt.Sprintf(hookedPlugin, "P"); got != want || strings.Contains(progress, "warning") {
		t.Errorf("prints %q, want %q\n%s", got, want, progress)
	}
	checkSameTree(t, tree, before)
	if path, _ := build(); path != first {
		t.Error("another binary of the same sources")
	}
	settings := run(t, "go", "version", "-m", first)
	if !strings.Contains(settings, "DefaultGODEBUG=") {
		t.Errorf("the defaults of GODEBUG are not those of OPA's go line:\n%s", settings)
	}
	if got, want := inspect(t, first), (Binary{OPA: "1.5.0", Regometer: "(devel)", DropIn: eachDropIn("A").hash(), Plugin: true, Hook: true}); got != want {
		t.Errorf("holds %+v, want %+v", got, want)
	}

	writeText(t, filepath.Join(ours, "metrics", "metrics.go"), "package metrics\n\nconst Who = \"Q\"\n")
	path, _ := build()
	if got, want := run(t, path), fmt.Sprintf(hookedPlugin, "Q"); got != want {
		t.Errorf("after the plugin changed it prints %q, want %q", got, want)
	}
	path, _ = mustBuild(t, Options{OPA: tree}, eachDropIn("A"))
	if got := run(t, path); got != "1.5.0  A" {
		t.Errorf("without the plugin it prints %q", got)
	}

	// Without the hook, and with that of OPA itself.
	file := filepath.Join(tree, "v1/runtime/runtime.go")
	text := runtimeTree()["v1/runtime/runtime.go"]
	writeText(t, file, strings.Replace(text, "plugin == nil", "nil == plugin", 1))
	path, progress = build()
	if got, want := run(t, path), fmt.Sprintf(unhookedPlugin, "Q"); got != want || strings.Count(progress, "warning: ") != 2 || !strings.Contains(progress, "runtime.go:33: expected ") {
		t.Errorf("without the hook it prints %q, want %q\n%s", got, want, progress)
	}
	if got := inspect(t, path); !got.Plugin || got.Hook {
		t.Errorf("without the hook it holds %+v", got)
	}
	writeText(t, file, text)
	if err := addHook(t.Context(), tree, target()); err != nil {
		t.Fatal(err)
	}
	path, progress = build()
	if got, want := run(t, path), fmt.Sprintf(hookedPlugin, "Q"); got != want || strings.Contains(progress, "warning") {
		t.Errorf("with OPA's own hook it prints %q, want %q\n%s", got, want, progress)
	}
	if got := inspect(t, path); !got.Hook {
		t.Errorf("with OPA's own hook it holds %+v", got)
	}
}

// inspect returns what a binary says of itself, but for Go and the platform.
func inspect(t *testing.T, file string) Binary {
	t.Helper()
	b, err := Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("built by %s for %s", b.Go, b.Platform)
	}
	b.Go, b.Platform = "", ""
	return *b
}

// A released regometer gets the plugin of its own version from the module
// proxy.
func TestBuildPluginVersion(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	const version = "v1.2.3"
	proxy, cache := t.TempDir(), t.TempDir()
	t.Cleanup(func() { _ = removeAll(cache) }) // the go command makes it read-only
	files := tinyPlugin("V")
	files["opa/go.mod"] = strings.ReplaceAll(files["opa/go.mod"], "v0.0.0", version)
	for _, name := range pluginModules {
		writeModule(t, proxy, name, version, files)
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", cache)
	tree := writeTree(t, runtimeTree())
	path, err := buildWith(t.Context(), Options{OPA: tree}, eachDropIn("A"), &plugin{version: version, content: "version " + version})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run(t, path), fmt.Sprintf(hookedPlugin, "V"); got != want {
		t.Errorf("prints %q, want %q", got, want)
	}
	_, err = buildWith(t.Context(), Options{OPA: tree}, tinyDropIn("A"), &plugin{version: "v1.2.4", content: "version v1.2.4"})
	checkError(t, "no such version", err, "adding the plugin: cannot get the plugin of Regometer v1.2.4")
}

// The same sources make the same binary, wherever they and the cache are.
func TestBuildReproducible(t *testing.T) {
	var binaries [2][]byte
	for i := range binaries {
		t.Setenv("REGOMETER_CACHE", t.TempDir())
		tree, ours := writeTree(t, runtimeTree()), writeTree(t, tinyPlugin("P"))
		path, err := buildWith(t.Context(), Options{OPA: tree}, eachDropIn("A"), mustFindPlugin(t, ours))
		if err != nil {
			t.Fatal(err)
		}
		if binaries[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(binaries[0], binaries[1]) {
		t.Error("two folders, two binaries")
	}
}

// writeModule puts one of our modules into a module proxy.
func writeModule(t *testing.T, proxy, name, version string, files map[string]string) {
	t.Helper()
	prefix := ""
	if name != "" {
		prefix = name + "/"
	}
	own := map[string]string{}
	for file, text := range files {
		nested := strings.HasPrefix(file, "opa/") || strings.HasPrefix(file, "prom/")
		if strings.HasPrefix(file, prefix) && (prefix != "" || !nested) {
			own[strings.TrimPrefix(file, prefix)] = text
		}
	}
	publish(t, proxy, modulePath(name), version, own)
}

// publish puts a module into a module proxy.
func publish(t *testing.T, proxy, path, version string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for file, text := range files {
		w, err := z.Create(path + "@" + version + "/" + file)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(proxy, filepath.FromSlash(path), "@v", version)
	writeText(t, base+".info", `{"Version":"`+version+`"}`)
	writeText(t, base+".mod", files["go.mod"])
	writeText(t, base+".zip", b.String())
}

func TestPluginContent(t *testing.T) {
	t.Parallel()
	content := func(change func(files map[string]string)) string {
		files := tinyPlugin("P")
		change(files)
		return mustFindPlugin(t, writeTree(t, files)).content
	}
	base := content(func(map[string]string) {})
	if content(func(f map[string]string) { f["opa/plugin/plugin_test.go"] = "package plugin\n" }) != base {
		t.Error("a test counts")
	}
	for _, name := range slices.Sorted(maps.Keys(tinyPlugin(""))) {
		if name == "opa/go.sum" {
			continue // names no content that the go.mod files do not
		}
		if content(func(f map[string]string) { f[name] += "\n" }) == base {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestFindPlugin(t *testing.T) {
	t.Parallel()
	p, err := findPlugin()
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if p.dir != want || p.version != "" {
		t.Errorf("got version %q, folder %s, want %s", p.version, p.dir, want)
	}
	if isCheckout(t.TempDir()) {
		t.Error("an empty folder is taken for a checkout")
	}
}

func TestRaiseLanguage(t *testing.T) {
	t.Parallel()
	const ours = "module x\n\ngo 1.25\n"
	for _, test := range []struct{ theirs, want string }{
		{"module y\n\ngo 1.22.7\n\ntoolchain go1.23.1\n", "-go=1.25 -toolchain=none -godebug=default=go1.22"},
		{"module y\n\ngo 1.22.7\n\ngodebug default=go1.21\n", "-go=1.25 -toolchain=none"},
		{"module y\n\ngo 1.25.3\n", ""},
		{"module y\n\ngo 1.26.0\n", ""},
		{"module y\n\ngo 2.0\n", ""},
	} {
		dir := writeTree(t, map[string]string{"ours": ours, "theirs": test.theirs})
		edits, err := raiseLanguage(filepath.Join(dir, "theirs"), filepath.Join(dir, "ours"))
		if got := strings.Join(edits, " "); err != nil || got != test.want {
			t.Errorf("%q: %q, %v, want %q", test.theirs, got, err, test.want)
		}
	}
	dir := writeTree(t, map[string]string{"ours": ours, "theirs": "module y\n"})
	_, err := raiseLanguage(filepath.Join(dir, "theirs"), filepath.Join(dir, "ours"))
	checkError(t, "no go line", err, "no go line")
}

// The plugin moves no dependency of OPA to another version.
func TestPluginMovesNothing(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("downloads go.mod files of OPA's dependencies: make test-slow")
	}
	for _, version := range []string{OldestVersion, NewestVersion} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			m, err := download(t.Context(), "OPA", opaModule, version)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "opa")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := copyTree(t.Context(), dir, m.Dir); err != nil {
				t.Fatal(err)
			}
			before := moduleVersions(t, dir)
			p, err := findPlugin()
			if err != nil {
				t.Fatal(err)
			}
			b := builder{src: source{name: version}, env: target(), dropIn: dropIn{}, plugin: p}
			if err := b.inject(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			after := moduleVersions(t, dir)
			if len(before) < 20 {
				t.Fatalf("OPA has only %d dependencies: %v", len(before), before)
			}
			for path, version := range before {
				if after[path] != version {
					t.Errorf("%s moves from %s to %s", path, version, after[path])
				}
			}
			for path := range after {
				if _, ok := before[path]; !ok && !strings.HasPrefix(path, ourModule) {
					t.Errorf("%s comes in", path)
				}
			}
		})
	}
}

// moduleVersions returns the versions of the modules that the opa in a source
// tree is built of.
func moduleVersions(t *testing.T, dir string) map[string]string {
	t.Helper()
	tags, err := buildTags(dir)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-mod=mod", "-deps", "-json=Module", "-tags=" + strings.Join(tags, ","), "."}
	out, err := gotool.Command{Dir: dir, Args: args, Env: []string{"CGO_ENABLED=0"}}.Output(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var pkg struct {
			Module *struct{ Path, Version string }
		}
		if err := d.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if pkg.Module != nil {
			versions[pkg.Module.Path] = pkg.Module.Version
		}
	}
	return versions
}
