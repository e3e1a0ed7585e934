// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/regometer/regometer/internal/app/gotool"
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
	)
	p := tinyParts(t, "P")
	p.fixes = load(map[string]string{
		"01-there": was, "02-first": use + "\"!\" }\n",
		"03-torn": "v1/plugins/plugins.go Status\n-type Status struct{}\n+type Status struct{ x int }\n\nv1/version/version.go Version 0123\n",
		"04-none": "v1/server/none.go Server 0123\n", "05-next": "v1/server/info.go Info\n-type Info struct{ Path string }\n+type Info struct{ Path, more string }\n",
	})
	if (&parts{dropIn: p.dropIn, plugin: p.plugin}).content() == p.content() {
		t.Error("the fixes have no effect on the key of the cache")
	}
	tree := writeTree(t, opaTree())
	before := readTree(t, tree)
	path, progress := mustBuild(t, Options{OPA: tree}, p)
	if got, want := run(t, path), fmt.Sprintf(hookedPlugin, "P")+"!"; got != want {
		t.Errorf("prints %q, want %q", got, want)
	}
	for text, want := range map[string]int{
		left: 2, left + "torn: OPA 1.5.0 differs in v1/version/version.go\n": 1, left + "none: OPA 1.5.0 differs in v1/server/none.go\n": 1,
		"has the drop-in, the fixes first, next, the plugin and the decision hook\n": 1,
	} {
		if n := strings.Count(progress, text); n != want {
			t.Errorf("the progress has %q %d times, want %d:\n%s", text, n, want, progress)
		}
	}
	if got := inspect(t, path).Fixes; got != "first, next" {
		t.Errorf("the binary names the fixes %q", got)
	}
	checkSameTree(t, tree, before)

	p.fixes = load(map[string]string{"01-broken": use + "nothing }\n"})
	path = checkBuild(t, "does not compile", tree, p, fmt.Sprintf(hookedPlugin, "P"), "leaves out the fixes (broken) because they do not compile in OPA 1.5.0: ", "undefined: nothing")
	if got := inspect(t, path).Fixes; got != "" {
		t.Errorf("the binary names the fixes %q", got)
	}
}

// What has a step's changes is told from what has none or a part of them.
func TestStepIsIn(t *testing.T) {
	t.Parallel()
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps(), files)
	dir := writeTree(t, files)
	for n, want := range [][]bool{{false, false}, {true, false}, {false, true}} {
		if n > 0 {
			if err := ApplySteps(dir, steps[n-1:n]); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range want {
			if got := steps[i].isIn(os.DirFS(dir)); got != want {
				t.Errorf("after %d steps: step %d: got %t, want %t", n, i+1, got, want)
			}
		}
	}
}

// Each release has the fixes that fit, and the hook on top of them.
func TestFixesOfReleases(t *testing.T) {
	all, err := fixes()
	if err != nil || len(all) != len(fixNames) {
		t.Fatalf("%d fixes, want %d: %v", len(all), len(fixNames), err)
	}
	for version, want := range map[string]string{
		OldestVersion: "", "v1.10.1": "split-chunks", "v1.21.4": "no-op-default, split-chunks",
		NewestVersion: strings.Join(fixNames, ", "), UpstreamVersion: strings.Join(fixNames, ", "),
	} {
		t.Run(version, func(t *testing.T) {
			source, p := sourceOf(t, version), parts{dropIn: loadDropIn().withoutTests(), fixes: all}
			if err := p.fit(source, version, progress{}); err != nil {
				t.Fatal(err)
			}
			if got := p.fixed(); got != want {
				t.Errorf("takes %q, want %q", got, want)
			}
			if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
				return
			}
			dir := t.TempDir()
			if err := copyTree(t.Context(), dir, source); err != nil {
				t.Fatal(err)
			}
			mustHook(t, dir, p.fixes...)
			c := gotool.Command{Dir: dir, Env: []string{"CGO_ENABLED=0"}, Args: []string{"build", "-mod=mod", "-buildvcs=false", "-trimpath", "./v1/runtime", "./v1/sdk"}}
			if out, err := c.Output(t.Context()); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
