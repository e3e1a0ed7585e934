// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// slow asks for the tests that compile much, which make test leaves to CI.
var slow = os.Getenv("REGOMETER_SLOW_TESTS") != ""

const runtimeFile = "v1/runtime/runtime.go"

// sourceOf returns the folder of an OPA release. Releases that are not in the
// module cache are left to the slow tests, which download them.
func sourceOf(t *testing.T, version string) string {
	t.Helper()
	if !slow {
		t.Setenv("GOPROXY", "off")
	}
	m, err := download(t.Context(), "OPA", opaModule, version)
	if err != nil {
		if !slow {
			t.Skip("not in the module cache: ", err)
		}
		t.Fatal(err)
	}
	return m.Dir
}

// opaTree returns the files of a tiny program that a build takes for OPA. It
// makes the registered plugins and a decision. It prints its version and the
// author of its package metrics.
func opaTree() map[string]string {
	return map[string]string{
		"go.mod": "module github.com/open-policy-agent/opa\n\ngo 1.22\n",
		"internal/user/user.go": `package user

import "github.com/open-policy-agent/opa/v1/metrics"

func Use() string { return metrics.New("x").Stop(1) }
`,
		"internal/user/other.go":     "//go:build never\n\npackage user\n\nvar _ = metrics.OnlyElsewhere\n",
		"v1/version/version.go":      "package version\n\nvar Version = \"1.5.0\"\n\nvar (\n\tVcs = \"\"\n\tTimestamp = \"\"\n)\n",
		"v1/metrics/metrics.go":      "package metrics\n\ntype Timer interface{ Stop(n int) (who string) }\n\nfunc New(name string) Timer { return timer{} }\n\nfunc Unused() {}\n",
		"v1/metrics/sample.go":       "package metrics\n\ntype timer struct{}\n\nfunc (timer) Stop(int) string { return \"OPA\" }\n",
		"v1/metrics/metrics_test.go": "package metrics\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) { New(\"\") }\n",
		"v1/metrics/sample_test.go":  "package metrics\n\nimport \"testing\"\n\nfunc TestSample(t *testing.T) { _ = timer{} }\n",
		"v1/metrics/README":          "",
		"docs/link.md":               "x",
		"main.go": `package main

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
`,
		"v1/runtime/runtime.go": `package runtime

import (
	"context"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
)

var factories = map[string]plugins.Factory{}

func RegisterPlugin(name string, factory plugins.Factory) { factories[name] = factory }

// Runtime has a manager.
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
	plugin := logs.Lookup(rt.Manager)
	if plugin == nil {
		return nil
	}

	return plugin.Log(ctx, event)
}
`,
		"v1/runtime/version.go": "package runtime\n\nimport _ \"github.com/open-policy-agent/opa/v1/version\"\n",
		"v1/server/info.go":     "package server\n\ntype Info struct{ Path string }\n",
		"v1/plugins/plugins.go": `package plugins

type Plugin interface{ Name() string }

type Factory interface{ New() Plugin }

type Status struct{}

type Manager struct {
	names  []string
	plugin Plugin
}

func (m *Manager) Register(name string, p Plugin) { m.names, m.plugin = []string{name}, p }

func (m *Manager) Plugins() []string { return m.names }

func (m *Manager) Plugin(string) Plugin { return m.plugin }

func (m *Manager) RegisterPluginStatusListener(string, func(map[string]*Status)) {}
`,
		"v1/plugins/logs/logs.go": `package logs

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
`,
	}
}

// fakeDropIn fits opaTree. Its collections have a metric of each kind.
func fakeDropIn(who string) dropIn {
	return dropIn{
		"metrics.go": []byte("package metrics\n\ntype Timer interface{ Stop(int) string }\n\nfunc New(string) Timer { return clock{} }\n"),
		"collection.go": []byte(`package metrics

import (
	"iter"
	"slices"
)

type clock struct{}

//go:noinline
func (clock) Stop(int) string { return "` + who + `" }

type Metrics any

const (
	KindCounter = iota
	KindHistogram
	KindTimer
)

type Metric int

func (m Metric) Kind() int { return int(m) }

func (m Metric) Key() string { return []string{"counter_x", "histogram_x", "timer_x_ns"}[m] }

func (m Metric) Int64() int64 { return 3 }

func (m Metric) Uint64() uint64 { return 1 }

func Each(Metrics) iter.Seq[Metric] { return slices.Values([]Metric{KindCounter, KindHistogram, KindTimer}) }
`),
	}
}

// tinyPlugin returns the files of a checkout whose plugin prints its name, what
// it gets from the binary, and each decision.
func tinyPlugin(who string) map[string]string {
	return map[string]string{
		"go.mod":                 "module " + ourModule + "\n\ngo 1.25\n",
		"exphist/exphist.go":     "package exphist\n\nconst Who = \"" + who + "\"\n",
		"outcome/outcome.go":     "package outcome\n",
		"rollup/rollup.go":       "package rollup\n\nimport _ \"" + ourModule + "/internal/stages\"\n\ntype Number struct {\n\tKey   string\n\tValue int64\n}\n",
		"internal/stages/s.go":   "package stages\n",
		"internal/grid/g.go":     "package grid\n",
		"internal/verdicts/v.go": "package verdict\n",
		"prom/go.mod":            "module " + ourModule + "/prom\n\ngo 1.25\n",
		"prom/prom.go":           "package prom\n",
		"opa/go.mod":             "module " + ourModule + "/opa\n\ngo 1.25\n\nrequire " + ourModule + " v0.0.0\n",
		"opa/plugin/plugin.go": `package plugin

import (
	"context"
	"fmt"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"

	"` + ourModule + `/exphist"
	"` + ourModule + `/rollup"
)

const Name = "tiny"

type Factory struct {
	Version, DropIn string
	Numbers         func([]rollup.Number, opa.Metrics) []rollup.Number
	Observed        func(context.Context) bool
}

func (f Factory) New() plugins.Plugin {
	fmt.Printf("plugin %s of %s with %d bytes of hash, %v, ", exphist.Who, f.Version, len(f.DropIn), f.Numbers(nil, nil))
	return &Plugin{f}
}

type Plugin struct{ f Factory }

func (*Plugin) Name() string { return Name }

func (p *Plugin) ObserveDecision(_ context.Context, info *server.Info) { fmt.Printf("observed %s, ", info.Path) }

func (p *Plugin) Log(ctx context.Context, info *server.Info) error {
	known := p.f.Observed != nil && p.f.Observed(ctx)
	fmt.Printf("logged %s, observed: %t, ", info.Path, known)
	return nil
}
`,
		"opa/internal/hook/hook.go": "package hook\n",
		"opa/plugin/register/register.go": `package register

import (
	"context"

	opa "github.com/open-policy-agent/opa/v1/metrics"

	"` + ourModule + `/opa/plugin"
	"` + ourModule + `/rollup"
)

func Factory(version, dropIn string, numbers func([]rollup.Number, opa.Metrics) []rollup.Number, observed func(context.Context) bool) plugin.Factory {
	return plugin.Factory{Version: version, DropIn: dropIn, Numbers: numbers, Observed: observed}
}

func Active() bool { return true }
`,
	}
}

// Whether the decision hook is there or not, the plugin works.
const (
	hookedPlugin   = "plugin %s of (devel) with 12 bytes of hash, [{counter_x 1} {timer_x_ns 3}], observed a/b, logged a/b, observed: true, 1.5.0  A"
	unhookedPlugin = "plugin %s of (devel) with 12 bytes of hash, [{counter_x 1} {timer_x_ns 3}], logged a/b, observed: false, 1.5.0  A"
)

func mustFindPlugin(t *testing.T, dir string) *plugin {
	t.Helper()
	if !isCheckout(dir) {
		t.Fatalf("%s is not a checkout", dir)
	}
	p, err := checkoutPlugin(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
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
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if info, statErr := os.Stat(filepath.Join(dir, name)); err != nil || statErr == nil && info.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = info.Mode().String() + "\n" + string(text)
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
	all := maps.Clone(got)
	maps.Copy(all, want)
	for name := range all {
		if got[name] != want[name] {
			t.Errorf("%s holds %q, want %q", name, got[name], want[name])
		}
	}
}

// checkError checks that the error holds a text, or is nil if that is empty.
func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want one with %q", name, err, want)
	}
}

// run returns what a program prints.
func run(t *testing.T, binary string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", binary, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// inspect returns what a binary consists of, except Go and the platform.
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

// useProxy gives the go command a module proxy, and the build a cache.
func useProxy(t *testing.T, fill func(proxy string)) {
	t.Helper()
	proxy, cache := t.TempDir(), t.TempDir()
	t.Cleanup(func() { _ = removeAll(cache) }) // the go command makes it read-only
	fill(proxy)
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", cache)
}

// publish puts a module into a module proxy.
func publish(t *testing.T, proxy, path, version string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for file, text := range files {
		w, err := z.Create(path + "@" + version + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, text)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(proxy, filepath.FromSlash(path), "@v", version)
	writeText(t, base+".info", `{"Version":"`+version+`"}`)
	writeText(t, base+".mod", files["go.mod"])
	writeText(t, base+".zip", b.String())
}
