// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// opaTree returns the files of a tiny program in the shape of OPA: it prints
// its version, and who wrote its package metrics.
func opaTree() map[string]string {
	return map[string]string{
		"go.mod": "module github.com/open-policy-agent/opa\n\ngo 1.22\n",
		"main.go": `package main

import (
	"fmt"

	"github.com/open-policy-agent/opa/internal/user"
	"github.com/open-policy-agent/opa/v1/version"
)

func main() {
	fmt.Println(version.Version, version.Vcs, user.Use())
}
`,
		"internal/user/user.go": `package user

import "github.com/open-policy-agent/opa/v1/metrics"

type recorder struct{ t metrics.Timer }

func Use() string {
	r := recorder{metrics.New("x")}
	return r.t.Stop(1)
}
`,
		"internal/user/other.go":     "//go:build never\n\npackage user\n\nvar _ = metrics.OnlyElsewhere\n",
		"v1/version/version.go":      "package version\n\nvar Version = \"1.5.0\"\n\nvar (\n\tVcs = \"\"\n\tTimestamp = \"\"\n)\n",
		"v1/metrics/metrics.go":      "package metrics\n\ntype Timer interface{ Stop(n int) (who string) }\n\nfunc New(name string) Timer { return timer{} }\n\nfunc Unused() {}\n",
		"v1/metrics/sample.go":       "package metrics\n\ntype timer struct{}\n\nfunc (timer) Stop(int) string { return \"OPA\" }\n",
		"v1/metrics/metrics_test.go": "package metrics\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) { New(\"\") }\n",
		"v1/metrics/sample_test.go":  "package metrics\n\nimport \"testing\"\n\nfunc TestSample(t *testing.T) { _ = timer{} }\n",
		"v1/metrics/README":          "",
		"docs/link.md":               "x",
	}
}

// tinyDropIn fits opaTree.
func tinyDropIn(who string) dropIn {
	return dropIn{
		"metrics.go": []byte("package metrics\n\ntype Timer interface{ Stop(int) string }\n\nfunc New(string) Timer { return clock{} }\n"),
		"clock.go":   []byte("package metrics\n\ntype clock struct{}\n\n//go:noinline\nfunc (clock) Stop(int) string { return \"" + who + "\" }\n"),
	}
}

// runtimeTree returns the files of a program that is like OPA in what the
// plugin and the decision hook need: it makes the plugins that are registered,
// and a decision.
func runtimeTree() map[string]string {
	files := opaTree()
	files["main.go"] = `package main

import (
	"fmt"

	"github.com/open-policy-agent/opa/internal/user"
	"github.com/open-policy-agent/opa/v1/runtime"
	"github.com/open-policy-agent/opa/v1/version"
)

func main() {
	runtime.New().Decide()
	fmt.Println(version.Version, version.Vcs, user.Use())
}
`
	files["v1/runtime/runtime.go"] = `package runtime

import (
	"context"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
)

var factories = map[string]plugins.Factory{}

func RegisterPlugin(name string, factory plugins.Factory) { factories[name] = factory }

// Runtime is what it is.
type Runtime struct {
	Manager *plugins.Manager // the manager

	done bool
}

func New() *Runtime {
	rt := &Runtime{Manager: &plugins.Manager{}}
	for name, factory := range factories {
		rt.Manager.Register(name, factory.New())
	}
	return rt
}

func (rt *Runtime) Decide() { rt.decisionLogger(context.Background(), &server.Info{Path: "a/b"}) }

// decisionLogger logs.
func (rt *Runtime) decisionLogger(ctx context.Context, event *server.Info) error {
	// Find it.
	plugin := logs.Lookup(rt.Manager)
	if plugin == nil {
		return nil
	}

	return plugin.Log(ctx, event) // the end
}
`
	files["v1/runtime/version.go"] = "package runtime\n\nimport _ \"github.com/open-policy-agent/opa/v1/version\"\n"
	files["v1/server/info.go"] = "package server\n\ntype Info struct{ Path string }\n"
	files["v1/plugins/plugins.go"] = `package plugins

type Plugin interface{ Name() string }

type Factory interface{ New() Plugin }

type Status struct{}

type Manager struct {
	names   []string
	plugins map[string]Plugin
}

func (m *Manager) Register(name string, p Plugin) {
	if m.plugins == nil {
		m.plugins = map[string]Plugin{}
	}
	m.names, m.plugins[name] = append(m.names, name), p
}

func (m *Manager) Plugins() []string { return append([]string{}, m.names...) }

func (m *Manager) Plugin(name string) Plugin { return m.plugins[name] }

func (m *Manager) RegisterPluginStatusListener(string, func(map[string]*Status)) {}
`
	files["v1/plugins/logs/logs.go"] = `package logs

import (
	"context"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"
)

type Logger interface {
	Log(context.Context, *server.Info) error
}

func Lookup(m *plugins.Manager) Logger {
	for _, name := range m.Plugins() {
		if l, ok := m.Plugin(name).(Logger); ok {
			return l
		}
	}
	return nil
}
`
	return files
}

// eachDropIn fits runtimeTree. Its collections have a metric of each kind.
func eachDropIn(who string) dropIn {
	d := tinyDropIn(who)
	d["each.go"] = []byte(`package metrics

import "iter"

type Metrics any

type Kind int

const (
	KindOther Kind = iota
	KindCounter
	KindHistogram
	KindTimer
)

type Metric struct{ kind Kind }

func (m Metric) Kind() Kind { return m.kind }

func (m Metric) Key() string { return []string{"other", "counter_x", "histogram_x", "timer_x_ns"}[m.kind] }

func (m Metric) Int64() int64 { return 3 }

func (m Metric) Uint64() uint64 { return 1 }

func Each(Metrics) iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		for kind := range KindTimer + 1 {
			if !yield(Metric{kind}) {
				return
			}
		}
	}
}
`)
	return d
}

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeText(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readTree returns mode and content of everything in dir, by slash path.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = info.Mode().String() + "\n" + string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func checkSameTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := readTree(t, dir)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if w, ok := want[name]; !ok {
			t.Errorf("%s was not there before", name)
		} else if got[name] != w {
			t.Errorf("%s changed:\n%s\nwas:\n%s", name, got[name], w)
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestCopyTree(t *testing.T) {
	from := writeTree(t, opaTree())
	writeText(t, filepath.Join(from, ".git", "config"), "secret")
	writeText(t, filepath.Join(from, "docs", "node_modules", "x.js"), "big")
	if err := os.Chmod(filepath.Join(from, "main.go"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("link.md", filepath.Join(from, "docs", "symlink.md")); err != nil {
		t.Skip(err)
	}
	to := t.TempDir()
	if err := copyTree(t.Context(), to, from); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "docs", "symlink.md")); string(text) != "x" {
		t.Errorf("the symbolic link became %q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(to, "main.go")); err != nil || info.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("a read-only file was copied as %v, %v", info.Mode(), err)
	}
	got := readTree(t, to)
	if len(got) != len(opaTree())+1 {
		t.Errorf("copied %q", slices.Sorted(maps.Keys(got)))
	}
}

// A copy does not lead to what lies outside of it, however the links in the
// tree are made, and the tree may be a link itself.
func TestCopyLinks(t *testing.T) {
	from, outside := writeTree(t, opaTree()), t.TempDir()
	writeText(t, filepath.Join(outside, "file"), "content")
	link := func(to, name string) {
		t.Helper()
		_ = os.Remove(filepath.Join(from, name))
		if err := os.Symlink(to, filepath.Join(from, name)); err != nil {
			t.Skip(err)
		}
	}
	relative, err := filepath.Rel(from, filepath.Join(outside, "file"))
	if err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(outside, "file"), "absolute")
	link(relative, "relative")
	link("absolute", "chain")
	link(filepath.Join(from, "docs"), "folder")
	link("../v1", "docs/up")
	link("..", "docs/circle")
	link("self", "self")
	link("nothing", "dangling")
	if err := os.Link(filepath.Join(outside, "file"), filepath.Join(from, "hard")); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Symlink(from, tree); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := copyTree(t.Context(), to, tree); err != nil {
		t.Fatal(err)
	}
	a, errA := hashTree(t.Context(), tree)
	b, errB := hashTree(t.Context(), to)
	if a != b || errA != nil || errB != nil {
		t.Errorf("the copy has another hash: %v, %v", errA, errB)
	}
	for _, name := range []string{"absolute", "relative", "chain", "hard"} {
		file := filepath.Join(to, name)
		if text, err := os.ReadFile(file); string(text) != "content" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
		writeText(t, file, "changed")
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "file")); string(text) != "content" {
		t.Error("the copy leads outside")
	}
	writeText(t, filepath.Join(to, "folder", "up", "metrics", "new.go"), "")
	if _, err := os.Stat(filepath.Join(to, "v1", "metrics", "new.go")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"self", "dangling"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}

	link(outside, "out")
	checkError(t, "hash", func() error { _, err := hashTree(t.Context(), tree); return err }(), "out is a link to the folder")
	checkError(t, "copy", copyTree(t.Context(), t.TempDir(), tree), "out is a link to the folder")
}

// What is built is what the key in the cache stands for.
func TestCheckCopy(t *testing.T) {
	from, to := writeTree(t, opaTree()), t.TempDir()
	if err := os.Chmod(filepath.Join(from, "main.go"), 0o544); err != nil {
		t.Fatal(err)
	}
	src, err := folderSource(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), to, from); err != nil {
		t.Fatal(err)
	}
	if err := src.checkCopy(t.Context(), to); err != nil {
		t.Error(err)
	}
	writeText(t, filepath.Join(to, "docs/link.md"), "changed")
	checkError(t, "changed", src.checkCopy(t.Context(), to), "changed while it was copied")
}

func TestHashTree(t *testing.T) {
	hash := func(change func(dir string)) string {
		t.Helper()
		dir := writeTree(t, opaTree())
		change(dir)
		h, err := hashTree(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(func(string) {})
	if h := hash(func(dir string) { writeText(t, filepath.Join(dir, ".git/x"), "x") }); h != base {
		t.Error("the Git folder counts")
	}
	for name, change := range map[string]func(dir string){
		"new file": func(dir string) { writeText(t, filepath.Join(dir, "x"), "") },
		"content":  func(dir string) { writeText(t, filepath.Join(dir, "main.go"), "") },
		"renamed": func(dir string) {
			if err := os.Rename(filepath.Join(dir, "main.go"), filepath.Join(dir, "main2.go")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if hash(change) == base {
			t.Errorf("%s: the hash is the same", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hashTree(ctx, writeTree(t, opaTree())); err == nil {
		t.Error("not cancelled")
	}
}

func TestCheckTree(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"other module", "go.mod", "module example.com/x\n", "not that of module"},
		{"replacement in the tree", "go.mod", "module github.com/open-policy-agent/opa\n// x => ../y\nreplace a.b/c => ./c\n", ""},
		{"replacement by version", "go.mod", "module github.com/open-policy-agent/opa\nreplace (\n\ta.b/c v1.0.0 => d.e/f v1.2.3\n)\n", ""},
		{"replacement beside it", "go.mod", "module github.com/open-policy-agent/opa\nreplace a.b/c => ../c\n", "../c"},
		{"replacement in a list", "go.mod", "module github.com/open-policy-agent/opa\nreplace (\n\ta.b/c v1.0.0 => /src/c\n)\n", "/src/c"},
	} {
		files := opaTree()
		files[c.file] = c.text
		dir := writeTree(t, files)
		err := checkTree(dir)
		if err == nil {
			err = checkCopyable(dir)
		}
		checkError(t, c.name, err, c.want)
	}
	checkError(t, "empty", checkTree(t.TempDir()), "no go.mod")
	missing := filepath.Join(t.TempDir(), "missing")
	checkError(t, "missing", checkTree(missing), "there is no folder "+missing)
	writeText(t, missing, "")
	checkError(t, "a file", checkTree(missing), missing+" is not a folder")
	files := opaTree()
	for name := range files {
		if filepath.Dir(name) == "v1/metrics" {
			delete(files, name)
		}
	}
	checkError(t, "old", checkTree(writeTree(t, files)), "has since v1.0.0")
}
