// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"errors"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/gotool"
)

const runtimeFile = "v1/runtime/runtime.go"

// hooked is the text of runtimeTree's runtimeFile with the hook in it.
func hooked() string {
	return strings.NewReplacer(
		"\tdone bool\n", "\tdone bool\n\n\t// The plugins that see each decision, see DecisionObserver.\n\tobservers decisionObservers\n",
		"\tplugin := logs.Lookup(rt.Manager)\n", `	manager := rt.Manager
	observers := rt.observers.of(manager)
	observers.observe(ctx, event)

	plugin := logs.Lookup(manager)
`,
		"plugin.Log(ctx, event)", "plugin.Log(observers.mark(ctx), event)",
	).Replace(runtimeTree()[runtimeFile])
}

func TestAddHook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rename *strings.Replacer // applied to the method, and to what is expected of it
	}{
		{"as in 1.0", strings.NewReplacer()},
		{"as in 1.22", strings.NewReplacer("rt.Manager", "rt.manager()")},
		{"other names", strings.NewReplacer("(rt ", "(r ", "rt.", "r.", "ctx", "c", "event", "info", "plugin ", "p ", "plugin.", "p.")},
	} {
		renamed := func(text string) string {
			before, method, _ := strings.Cut(text, "func (rt *Runtime) decisionLogger")
			return before + c.rename.Replace("func (rt *Runtime) decisionLogger"+method)
		}
		files := runtimeTree()
		files[runtimeFile] = renamed(files[runtimeFile])
		dir := writeTree(t, files)
		before := readTree(t, dir)
		if err := addHook(t.Context(), dir, target()); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := renamed(hooked())
		got, err := os.ReadFile(filepath.Join(dir, runtimeFile))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", c.name, err, got, want)
		}
		after := readTree(t, dir)
		if text := after["v1/runtime/"+hookFile]; !strings.HasSuffix(text, "\n"+string(hookText)) {
			t.Errorf("%s: %s holds %q", c.name, hookFile, text)
		}
		delete(after, "v1/runtime/"+hookFile)
		after[runtimeFile] = before[runtimeFile]
		if !maps.Equal(after, before) {
			t.Errorf("%s: other files changed", c.name)
		}

		// A tree that has the hook is used as it is.
		again := readTree(t, dir)
		if err := addHook(t.Context(), dir, target()); err != nil {
			t.Errorf("%s, again: %v", c.name, err)
		}
		checkSameTree(t, dir, again)
	}
}

// A tree that is not as expected stays as it is.
func TestAddHookRefused(t *testing.T) {
	t.Parallel()
	const (
		method   = "runtime.go:33: expected `func (rt *Runtime) decisionLogger(ctx context.Context, event *server.Info) error { plugin := logs.Lookup(rt.Manager) if plugin == nil { return nil } return plugin.Log(ctx, event) }`, found `func "
		ownType  = "package runtime\n\nimport (\n\t\"context\"\n\n\t\"github.com/open-policy-agent/opa/v1/server\"\n)\n\ntype DecisionObserver interface {\n\tObserveDecision(context.Context, *server.Info)\n}\n"
		ownFunc  = "\nfunc DecisionObserved(ctx context.Context, o DecisionObserver) bool { return true }\n"
		ownFile  = "v1/runtime/own.go"
		declared = "package runtime\n\nvar decisionObservers, x int\n"
	)
	for _, c := range []struct{ name, file, old, text, want string }{
		{"no method", runtimeFile, ") decisionLogger(", ") logger(", "v1/runtime: expected a method decisionLogger, found none"},
		{"a function", runtimeFile, "func (rt *Runtime) decisionLogger(", "func decisionLogger(", "v1/runtime: expected a method decisionLogger, found none"},
		{"two methods", runtimeFile, "// decisionLogger logs.\n", "func (*int) decisionLogger() {}\n", "runtime.go:33: expected one method decisionLogger, found another one"},
		{"only in a test", runtimeFile, "", "", "v1/runtime: expected a type Runtime, found none"},
		{"value receiver", runtimeFile, "(rt *Runtime) decisionLogger", "(rt Runtime) decisionLogger", method + "(rt Runtime)"},
		{"no receiver name", runtimeFile, "(rt *Runtime) decisionLogger", "(*Runtime) decisionLogger", method + "(*Runtime)"},
		{"another parameter", runtimeFile, "event *server.Info)", "event *server.Info, more int)", method + "(rt *Runtime) decisionLogger(ctx context.Context, event *server.Info, more int)"},
		{"info by value", runtimeFile, "event *server.Info)", "event server.Info)", method},
		{"parameters of one type", runtimeFile, "(ctx context.Context, event *server.Info)", "(ctx, event context.Context)", method},
		{"no result", runtimeFile, "*server.Info) error {", "*server.Info) {", method},
		{"other look-up", runtimeFile, "logs.Lookup(rt.Manager)", "logs.Find(rt.Manager)", method},
		{"other manager", runtimeFile, "logs.Lookup(rt.Manager)", "logs.Lookup(rt.m)", method},
		{"another statement", runtimeFile, "\t// Find it.\n", "\tevent = nil\n", method},
		{"other condition", runtimeFile, "plugin == nil", "plugin != nil", method},
		{"something else returned", runtimeFile, "\t\treturn nil\n", "\t\treturn ctx.Err()\n", method},
		{"else", runtimeFile, "\t\treturn nil\n\t}\n", "\t\treturn nil\n\t} else {\n\t\tprintln()\n\t}\n", method},
		{"other context", runtimeFile, "plugin.Log(ctx,", "plugin.Log(context.WithoutCancel(ctx),", method},
		{"empty body", runtimeFile, "\t// Find it.\n", "}\n\nfunc f(ctx context.Context, event *server.Info, rt *Runtime) error {\n", method},
		{"a variable manager", runtimeFile, "(ctx context.Context, event *server.Info) error {\n\t// Find it.\n\tplugin := logs.Lookup(rt.Manager)\n\tif plugin == nil {\n\t\treturn nil\n\t}\n\n\treturn plugin.",
			"(ctx context.Context, event *server.Info) error {\n\tmanager := logs.Lookup(rt.Manager)\n\tif manager == nil {\n\t\treturn nil\n\t}\n\treturn manager.", "runtime.go:33: expected no variable manager, found one"},
		{"other logs", runtimeFile, "\"github.com/open-policy-agent/opa/v1/plugins/logs\"", "\"example.com/logs\"", "runtime.go:1: expected logs to be the package \"github.com/open-policy-agent/opa/v1/plugins/logs\", found \"example.com/logs\""},
		{"renamed import", runtimeFile, "\"context\"", "ctxt \"context\"", "runtime.go:1: expected context to be the package \"context\", found \"\""},
		{"not a struct", runtimeFile, "type Runtime struct {", "type Runtime []struct {", "runtime.go:16: expected Runtime to be a struct, found `[]struct {"},
		{"a variable Runtime", runtimeFile, "type Runtime struct {", "var Runtime struct {", "runtime.go:16: expected a type Runtime, found something else"},
		{"field observers", runtimeFile, "\tdone bool\n", "\ta, observers bool\n", "runtime.go:19: expected no field observers, found one"},
		{"method observers", runtimeFile, "func (rt *Runtime) Decide", "func (rt *Runtime) observers() {}\n\nfunc (rt *Runtime) Decide", "runtime.go:30: expected no method observers, found one"},
		{"no Go", runtimeFile, "type Runtime struct {", "type Runtime struct {{", "v1/runtime/runtime.go: expected Go, found v1/runtime/runtime.go:16:"},
		{"file there", "v1/runtime/" + hookFile, "", "package runtime\n", "decision_observer.go:1: expected no such file, found one"},
		{"name there", ownFile, "", declared, "own.go:3: expected no decisionObservers, found one"},
		{"own hook, half", ownFile, "", ownType, "v1/runtime: expected both DecisionObserver and DecisionObserved, or neither, found one"},
		{"own hook, other half", ownFile, "", "package runtime\n" + ownFunc, "v1/runtime: expected both DecisionObserver and DecisionObserved, or neither, found one"},
		{"own hook, other type", ownFile, "", strings.Replace(ownType, "*server", "server", 1) + ownFunc, "own.go:9: expected it as Regometer's plugin needs it, found `DecisionObserver interface"},
		{"own hook, more methods", ownFile, "", strings.Replace(ownType, "\n}", "\n\tM()\n}", 1) + ownFunc, "own.go:9: expected it as Regometer's plugin needs it, found `DecisionObserver interface"},
		{"own hook, other function", ownFile, "", ownType + strings.Replace(ownFunc, " bool ", " int ", 1), "own.go:13: expected it as Regometer's plugin needs it, found `func DecisionObserved"},
		{"own hook", ownFile, "", ownType + ownFunc, ""},
		{"no status listener", "v1/plugins/plugins.go", "RegisterPluginStatusListener", "OnStatus", "manager.RegisterPluginStatusListener undefined"},
		{"other plugins", "v1/plugins/plugins.go", "Plugin(name string) Plugin { return m.plugins[name] }", "Plugin(string) int { return 0 }", "decision_observer.go:91: expected what the hook can be compiled with, found "},
	} {
		files := runtimeTree()
		switch {
		case c.name == "only in a test":
			files["v1/runtime/runtime_test.go"] = files[c.file]
			files[c.file] = "package runtime\n"
		case c.old == "":
			files[c.file] = c.text
		case strings.Count(files[c.file], c.old) != 1:
			t.Fatalf("%s: %d places to change", c.name, strings.Count(files[c.file], c.old))
		default:
			files[c.file] = strings.Replace(files[c.file], c.old, c.text, 1)
		}
		dir := writeTree(t, files)
		before := readTree(t, dir)
		err := addHook(t.Context(), dir, target())
		checkError(t, c.name, err, c.want)
		var refused *hookError
		if c.want != "" && !errors.As(err, &refused) {
			t.Errorf("%s: it is no refusal but fails the build: %v", c.name, err)
		}
		checkSameTree(t, dir, before)
	}
}

func TestAddHookNoRuntime(t *testing.T) {
	t.Parallel()
	err := addHook(t.Context(), writeTree(t, opaTree()), target())
	checkError(t, "no package", err, "v1/runtime: expected a package, found ")
}

// hookedVersions are releases of all kinds that the hook has to fit.
var hookedVersions = []string{OldestVersion, "v1.5.0", "v1.10.1", "v1.16.0", NewestVersion, "v1.22.2"}

// copyVersion returns a copy of an OPA release.
func copyVersion(t *testing.T, version string) string {
	t.Helper()
	m, err := download(t.Context(), "OPA", opaModule, version)
	if err != nil {
		if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
			t.Skip("not in the module cache: ", err)
		}
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "opa")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), dir, m.Dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The real releases get the hook. Those that are not in the module cache are
// left to the slow tests, which download them.
func TestAddHookReleases(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Setenv("GOPROXY", "off")
	}
	added := 0
	for _, version := range hookedVersions {
		t.Run(version, func(t *testing.T) {
			dir := copyVersion(t, version)
			before := readTree(t, filepath.Join(dir, runtimeDir))
			if err := addHook(t.Context(), dir, target()); err != nil {
				t.Fatal(err)
			}
			added++
			for name, text := range readTree(t, filepath.Join(dir, runtimeDir)) {
				if text == before[name] {
					continue
				}
				_, text, _ = strings.Cut(text, "\n") // the mode
				switch {
				case name != "runtime.go" && name != hookFile:
					t.Errorf("%s changed", name)
				case name == "runtime.go":
					_, was, _ := strings.Cut(before[name], "\n")
					if lines := strings.Count(text, "\n") - strings.Count(was, "\n"); lines != 7 {
						t.Errorf("%d lines were added to %s", lines, name)
					}
				}
				if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
					t.Errorf("%s is not formatted: %v", name, err)
				}
			}
			again := readTree(t, filepath.Join(dir, runtimeDir))
			if err := addHook(t.Context(), dir, target()); err != nil {
				t.Error(err)
			}
			checkSameTree(t, filepath.Join(dir, runtimeDir), again)
		})
	}
	if added == 0 {
		t.Error("no OPA is in the module cache")
	}
}

// TestHook runs the hook's own tests in the first and the last OPA that are
// supported.
func TestHook(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA's tests for minutes: make test-slow")
	}
	env, err := gotool.Env(t.Context(), nil, "CC")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{OldestVersion, NewestVersion} {
		t.Run(version, func(t *testing.T) {
			dir := copyVersion(t, version)
			if err := addHook(t.Context(), dir, target()); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile("_upstream/10-decision-hook/v1/runtime/decision_observer_test.go")
			if err != nil {
				t.Fatal(err)
			}
			writeText(t, filepath.Join(dir, runtimeDir, "decision_observer_test.go"), string(withOPAHeader(text)))
			args := []string{"test", "-v", "-mod=mod", "-buildvcs=false", "-trimpath", "-count=1", "-timeout=5m", "-run=^TestDecision"}
			c := gotool.Command{Dir: dir, Env: []string{"CGO_ENABLED=0"}}
			if _, err := exec.LookPath(env["CC"]); err == nil { // which the race detector needs
				args, c.Env = append(args, "-race"), []string{"CGO_ENABLED=1"}
			}
			c.Args = slices.Concat(args, []string{"./" + runtimeDir})
			out, err := c.Output(t.Context())
			tests := bytes.Count(text, []byte("\nfunc TestDecision"))
			if passed := bytes.Count(out, []byte("--- PASS: TestDecision")); err != nil || passed != tests || tests == 0 {
				t.Errorf("%d of %d tests passed: %v\n%s", passed, tests, err, out)
			}
		})
	}
}

func target() map[string]string {
	return map[string]string{"GOOS": runtime.GOOS, "GOARCH": runtime.GOARCH}
}
