// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
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
	).Replace(opaTree()[runtimeFile])
}

func TestHookChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rename *strings.Replacer // applied to the method, and to the expected one
	}{
		{"as in 1.0", strings.NewReplacer()},
		{"as in 1.22", strings.NewReplacer("rt.Manager", "rt.manager()")},
		{"other names", strings.NewReplacer("(rt ", "(r ", "rt.", "r.", "ctx", "c", "event", "info", "plugin ", "p ", "plugin.", "p.")},
	} {
		renamed := func(text string) string {
			before, method, _ := strings.Cut(text, "func (rt *Runtime) decisionLogger")
			return before + c.rename.Replace("func (rt *Runtime) decisionLogger"+method)
		}
		files := opaTree()
		files[runtimeFile] = renamed(files[runtimeFile])
		dir := writeTree(t, files)
		change, err := hookChange(dir, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, want := string(change[runtimeFile]), renamed(hooked()); got != want || len(change) != 2 {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
		if !bytes.Equal(change["v1/runtime/"+hookFile], hookText) {
			t.Errorf("%s: %s is missing", c.name, hookFile)
		}
	}
}

// mustHook puts the hook into a tree.
func mustHook(t *testing.T, dir string) {
	t.Helper()
	change, err := hookChange(dir, nil)
	if err == nil {
		err = change.apply(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A runtime that differs from the expected one is refused.
func TestHookRefused(t *testing.T) {
	t.Parallel()
	const method = "there is no method decisionLogger as the hook expects it"
	for _, c := range []struct{ name, old, text, want string }{
		{"no method", ") decisionLogger(", ") logger(", method},
		{"a function", "func (rt *Runtime) decisionLogger(", "func decisionLogger(", method},
		{"value receiver", "(rt *Runtime) decisionLogger", "(rt Runtime) decisionLogger", method},
		{"another parameter", "event *server.Info)", "event *server.Info, more int)", method},
		{"no result", "*server.Info) error {", "*server.Info) {", method},
		{"other look-up", "logs.Lookup(rt.Manager)", "logs.Find(rt.Manager)", method},
		{"other manager", "logs.Lookup(rt.Manager)", "logs.Lookup(rt.m)", method},
		{"another statement", "\t// Find it.\n", "\tevent = nil\n", method},
		{"other condition", "plugin == nil", "plugin != nil", method},
		{"something else returned", "\t\treturn nil\n", "\t\treturn ctx.Err()\n", method},
		{"other context", "plugin.Log(ctx,", "plugin.Log(context.WithoutCancel(ctx),", method},
		{"another event", "plugin.Log(ctx, event)", "plugin.Log(ctx, other)", method},
		{"another context", "plugin.Log(ctx,", "plugin.Log(c,", method},
		{"another plugin", "plugin.Log(", "other.Log(", method},
		{"condition of another", "plugin == nil", "other == nil", method},
		{"manager of another", "logs.Lookup(rt.Manager)", "logs.Lookup(x.Manager)", method},
		{"asked first", "\t// Find it.\n", "\t// s.WithDecisionLoggerFunc(rt.lookup)\n", "there is no server that calls the method decisionLogger"},
		{"not a struct", "type Runtime struct {", "type Runtime []struct {", "there is no struct Runtime"},
	} {
		files := opaTree()
		if n := strings.Count(files[runtimeFile], c.old); n != 1 {
			t.Fatalf("%s: %d places to change", c.name, n)
		}
		files[runtimeFile] = strings.Replace(files[runtimeFile], c.old, c.text, 1)
		change, err := hookChange(writeTree(t, files), nil)
		checkError(t, c.name, err, c.want)
		if _, ok := errors.AsType[*misfit](err); len(change) > 0 || c.want != "" && !ok {
			t.Errorf("%s: it is not refused but fails the build: %v", c.name, err)
		}
	}
}

// hookedVersions are releases of all kinds that the hook has to fit.
var hookedVersions = []string{OldestVersion, "v1.5.0", "v1.10.1", "v1.16.0", newestMinor + ".0", NewestVersion}

// sourceOf returns the folder of an OPA release. Releases that are not in the
// module cache are left to the slow tests, which download them.
func sourceOf(t *testing.T, version string) string {
	t.Helper()
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Setenv("GOPROXY", "off")
	}
	m, err := download(t.Context(), "OPA", opaModule, version)
	if err != nil {
		if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
			t.Skip("not in the module cache: ", err)
		}
		t.Fatal(err)
	}
	return m.Dir
}

// The real releases get the hook.
func TestHookOfReleases(t *testing.T) {
	for _, version := range hookedVersions {
		t.Run(version, func(t *testing.T) {
			dir := sourceOf(t, version)
			change, err := hookChange(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			was, err := os.ReadFile(filepath.Join(dir, runtimeFile))
			if err != nil {
				t.Fatal(err)
			}
			if lines := bytes.Count(change[runtimeFile], []byte("\n")) - bytes.Count(was, []byte("\n")); lines != 7 || len(change) != 2 {
				t.Errorf("%d lines were added to %s, %d files change", lines, runtimeFile, len(change))
			}
			for name, text := range change {
				if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
					t.Errorf("%s is not formatted: %v", name, err)
				}
			}
		})
	}
}

// TestHook runs the hook's own tests in the first supported OPA, and in the
// last one that has the hook in place of the fix hookFix.
func TestHook(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA's tests for minutes: make test-slow")
	}
	cc, err := gotool.Command{Args: []string{"env", "CC"}}.Output(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{OldestVersion, "v1.21.4"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			if err := copyTree(t.Context(), dir, sourceOf(t, version)); err != nil {
				t.Fatal(err)
			}
			mustHook(t, dir)
			text, err := os.ReadFile("_opa/decision_observer_test.go")
			if err != nil {
				t.Fatal(err)
			}
			writeText(t, filepath.Join(dir, runtimeDir, "decision_observer_test.go"), string(withOPAHeader(text)))
			args := []string{"test", "-v", "-mod=mod", "-buildvcs=false", "-trimpath", "-count=1", "-timeout=5m", "-run=^TestDecision"}
			c := gotool.Command{Dir: dir, Env: []string{"CGO_ENABLED=0"}}
			if _, err := exec.LookPath(strings.TrimSpace(string(cc))); err == nil { // which the race detector needs
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
