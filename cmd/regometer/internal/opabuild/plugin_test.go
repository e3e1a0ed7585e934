// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPluginFolders: a build copies all of our packages that the plugin imports.
func TestPluginFolders(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./plugin", "./plugin/register")
	list.Dir = "../../../../opa"
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var copied []string
	for module, folders := range pluginFolders {
		for _, folder := range folders {
			copied = append(copied, path.Join(ourModule, module, folder))
		}
	}
	for imported := range strings.Lines(string(out)) {
		if imported = strings.TrimSpace(imported); strings.HasPrefix(imported, ourModule) && !slices.Contains(copied, imported) {
			t.Errorf("no build copies %s", imported)
		}
	}
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
		if strings.HasSuffix(name, "go.mod") {
			continue // whose go line counts alone
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
	want, err := filepath.Abs("../../../..")
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

func TestOwnPackage(t *testing.T) {
	t.Parallel()
	const text = "// Licence\n\n//go:build a || b\n\npackage p\n\nimport (\n\t\"fmt\"\n\tx \"github.com/regometer/regometer/internal/stages\"\n\t\"github.com/regometer/regometer/rollup\"\n)\n\nvar _ = \"\" !=\n\t\t\"github.com/regometer/regometer/opa\"\n"
	got := ownPackage([]byte(text), "m/cmd/internal/regometer", "go1.25")
	imports, rest, _ := strings.Cut(text, "\n)\n") // a text that is no import stays
	want := strings.NewReplacer("a || b", "(a || b) && go1.25", ourModule, "m/cmd/internal/regometer").Replace(imports) + "\n)\n" + rest
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := ownPackage([]byte("package p\n"), "m", "go1.25"); string(got) != "//go:build go1.25\n\npackage p\n" {
		t.Errorf("%s", got)
	}
}
