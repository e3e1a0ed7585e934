// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/opa/opabuild/internal/gotool"
)

// tinyPlugin returns the files of a checkout whose plugin says, at start, who
// it is and what the default of one GODEBUG setting is.
func tinyPlugin(who string) map[string]string {
	return map[string]string{
		"go.mod":                      "module " + ourModule + "\n\ngo 1.25\n",
		"metrics/metrics.go":          "package metrics\n\nconst Who = \"" + who + "\"\n",
		"exphist/exphist.go":          "package exphist\n",
		"rollup/rollup.go":            "package rollup\n",
		"prom/go.mod":                 "module " + ourModule + "/prom\n\ngo 1.25\n",
		"prom/prom.go":                "package prom\n",
		"opa/go.mod":                  "module " + ourModule + "/opa\n\ngo 1.25\n\nrequire " + ourModule + " v0.0.0\n",
		"opa/go.sum":                  "",
		"opa/plugin/register/main.go": "package register\n\nimport (\n\t\"fmt\"\n\n\t\"" + ourModule + "/metrics\"\n)\n\nfunc init() { fmt.Print(\"plugin \", metrics.Who, \", \") }\n",
	}
}

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
	tree := writeTree(t, opaTree())
	before := readTree(t, tree)
	ours := writeTree(t, tinyPlugin("P"))
	build := func() string {
		t.Helper()
		path, err := buildWith(t.Context(), Options{OPA: tree}, tinyDropIn("A"), mustFindPlugin(t, ours))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := build()
	if got := run(t, first); got != "plugin P, 1.5.0  A" {
		t.Errorf("prints %q", got)
	}
	checkSameTree(t, tree, before)
	if build() != first {
		t.Error("another binary of the same sources")
	}
	settings := run(t, "go", "version", "-m", first)
	if !strings.Contains(settings, "DefaultGODEBUG=") {
		t.Errorf("the defaults of GODEBUG are not those of OPA's go line:\n%s", settings)
	}
	writeText(t, filepath.Join(ours, "metrics", "metrics.go"), "package metrics\n\nconst Who = \"Q\"\n")
	if got := run(t, build()); got != "plugin Q, 1.5.0  A" {
		t.Errorf("after the plugin changed it prints %q", got)
	}
	path, _ := mustBuild(t, Options{OPA: tree}, tinyDropIn("A"))
	if got := run(t, path); got != "1.5.0  A" {
		t.Errorf("without the plugin it prints %q", got)
	}
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
	tree := writeTree(t, opaTree())
	path, err := buildWith(t.Context(), Options{OPA: tree}, tinyDropIn("A"), &plugin{version: version, content: "version " + version})
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, path); got != "plugin V, 1.5.0  A" {
		t.Errorf("prints %q", got)
	}
	_, err = buildWith(t.Context(), Options{OPA: tree}, tinyDropIn("A"), &plugin{version: "v1.2.4", content: "version v1.2.4"})
	checkError(t, "no such version", err, "adding the decision-log plugin: cannot get the plugin of Regometer v1.2.4")
}

// writeModule puts one of our modules into a module proxy.
func writeModule(t *testing.T, proxy, name, version string, files map[string]string) {
	t.Helper()
	prefix := ""
	if name != "" {
		prefix = name + "/"
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for file, text := range files {
		nested := strings.HasPrefix(file, "opa/") || strings.HasPrefix(file, "prom/")
		if !strings.HasPrefix(file, prefix) || prefix == "" && nested {
			continue
		}
		w, err := z.Create(modulePath(name) + "@" + version + "/" + strings.TrimPrefix(file, prefix))
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
	base := filepath.Join(proxy, filepath.FromSlash(modulePath(name)), "@v", version)
	writeText(t, base+".info", `{"Version":"`+version+`"}`)
	writeText(t, base+".mod", files[prefix+"go.mod"])
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
	want, err := filepath.Abs("../..")
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
			if err := p.inject(t.Context(), dir); err != nil {
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
