// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

// A fix is in whole or not at all, and the binary names those that are in.
func TestBuildFixes(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	load := func(changes map[string]string) []Step {
		t.Helper()
		fsys := fstest.MapFS{}
		for name, text := range changes {
			fsys[name+"/changes.txt"] = &fstest.MapFile{Data: []byte(text)}
		}
		steps, err := loadSteps(fsys)
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	const (
		use  = "internal/user/user.go Use\n-func Use() string { return metrics.New(\"x\").Stop(1) }\n+func Use() string { return metrics.New(\"x\").Stop(1) + "
		was  = "v1/plugins/plugins.go Status\n-type Stat struct{}\n+type Status struct{}\n"
		left = "leaves out the fix "

		decide = "func (rt *Runtime) Decide() { rt.decisionLogger(context.Background(), &server.Info{Path: \"a/b\"}) }\n"
	)
	p := tinyParts(t, "P")
	hook := p.steps
	p.steps = append(load(map[string]string{
		"01-there": was, "02-first": use + "\"!\" }\n",
		"03-torn": "v1/plugins/plugins.go Status\n-type Status struct{}\n+type Status struct{ x int }\n\nv1/version/version.go Version\n-another\n",
		"04-none": "v1/server/none.go Server\n-x\n", "05-next": "v1/server/info.go Info\n-type Info struct{ Path string }\n+type Info struct{ Path, more string }\n",
		"06-onto": "v1/plugins/plugins.go Status\n-type Status struct{ x int }\n+type Status struct{ y int }\n", "07-twice": "v1/runtime/runtime.go New\n-}\n+}}\n",
		"08-path": runtimeFile + " (*Runtime).Decide\n-" + decide + "+" + strings.Replace(decide, "a/b", "c/d", 1), // in the hook's file
	}), hook...)
	if (&parts{dropIn: p.dropIn, plugin: p.plugin}).content() == p.content() {
		t.Error("the fixes have no effect on the key of the cache")
	}
	tree := writeTree(t, opaTree())
	before := readTree(t, tree)
	path, progress := mustBuild(t, Options{OPA: tree}, p)
	if got, want := run(t, path), strings.ReplaceAll(fmt.Sprintf(hookedPlugin, "P"), "a/b", "c/d")+"!"; got != want {
		t.Errorf("prints %q, want %q", got, want)
	}
	for text, want := range map[string]int{
		left: 5, left + "there: ": 1, left + "onto: ": 1, left + "twice: ": 1, left + "torn: OPA 1.5.0 has it already, or differs in v1/version/version.go\n": 1, left + "none: OPA 1.5.0 has it already, or differs in v1/server/none.go\n": 1,
		"has the drop-in, the fixes first, next, path, observed-decisions, the plugin and the decision hook\n": 1,
	} {
		if n := strings.Count(progress, text); n != want {
			t.Errorf("the progress has %q %d times, want %d:\n%s", text, n, want, progress)
		}
	}
	if got := inspect(t, path).Fixes; got != "first, next, path, observed-decisions" {
		t.Errorf("the binary names the fixes %q", got)
	}
	checkSameTree(t, tree, before)

	p.steps = append(load(map[string]string{"01-broken": use + "nothing }\n"}), hook...)
	path = checkBuild(t, "does not compile", tree, p, fmt.Sprintf(unhookedPlugin, "P"), "leaves out the fixes (broken, observed-decisions) because they do not compile in OPA 1.5.0: ", "undefined: nothing")
	if got := inspect(t, path).Fixes; got != "" {
		t.Errorf("the binary names the fixes %q", got)
	}
}

// Each release has the fixes that fit, and a hook.
func TestFixesOfReleases(t *testing.T) {
	all, err := fixes()
	if err != nil || len(all) != len(fixNames)+len(inPlaceOf) {
		t.Fatalf("%d fixes, want %d: %v", len(all), len(fixNames)+len(inPlaceOf), err)
	}
	for version, want := range map[string]string{
		OldestVersion: oldHookFix, "v1.5.0": "log-lines, " + oldHookFix + ", kept-events", "v1.10.1": "log-lines, " + oldHookFix + ", kept-events",
		"v1.21.4":          "split-chunks, plain-values, no-op-default, decode-once, log-lines, encode-events, " + oldHookFix,
		newestMinor + ".0": strings.Join(fixNames, ", "), NewestVersion: strings.Join(fixNames, ", "),
	} {
		t.Run(version, func(t *testing.T) {
			source, p := sourceOf(t, version), parts{dropIn: loadDropIn().withoutTests(), steps: all}
			if err := p.fit(source, version, true, progress{}); err != nil {
				t.Fatal(err)
			}
			if got := p.fixed(); got != want {
				t.Errorf("takes %q, want %q", got, want)
			}
			if got := p.changedTests(); version == NewestVersion && fmt.Sprint(got) != "[v1/plugins/logs/encoder_test.go v1/sdk/opa_test.go v1/logging/logging_test.go]" {
				t.Errorf("changes the tests %v", got)
			}
			if !slow || version == OldestVersion || version == NewestVersion {
				return // TestBuildOPA builds these
			}
			dir := t.TempDir()
			if err := copyTree(t.Context(), dir, source, false); err != nil {
				t.Fatal(err)
			}
			if err := applySteps(dir, p.steps); err != nil {
				t.Fatal(err)
			}
			for _, problem := range checkTypes(t, gotool.Command{Dir: dir, Args: []string{"-mod=mod", "./v1/runtime", "./v1/sdk"}}) {
				t.Error(problem)
			}
		})
	}
}
