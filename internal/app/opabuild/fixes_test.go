// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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

		decide = "func (rt *Runtime) Decide() { rt.decisionLogger(context.Background(), &server.Info{Path: \"a/b\"}) }\n"
	)
	p := tinyParts(t, "P")
	p.fixes = load(map[string]string{
		"01-there": was, "02-first": use + "\"!\" }\n",
		"03-torn": "v1/plugins/plugins.go Status\n-type Status struct{}\n+type Status struct{ x int }\n\nv1/version/version.go Version 0123\n",
		"04-none": "v1/server/none.go Server 0123\n", "05-next": "v1/server/info.go Info\n-type Info struct{ Path string }\n+type Info struct{ Path, more string }\n",
		"06-onto": "v1/plugins/plugins.go Status\n-type Status struct{ x int }\n+type Status struct{ y int }\n", "07-twice": "v1/runtime/runtime.go New\n-}\n+}}\n",
		"08-path": runtimeFile + " (*Runtime).Decide\n-" + decide + "+" + strings.Replace(decide, "a/b", "c/d", 1), // in the hook's file
	})
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
		"has the drop-in, the fixes first, next, path, the plugin and the decision hook\n": 1,
	} {
		if n := strings.Count(progress, text); n != want {
			t.Errorf("the progress has %q %d times, want %d:\n%s", text, n, want, progress)
		}
	}
	if got := inspect(t, path).Fixes; got != "first, next, path" {
		t.Errorf("the binary names the fixes %q", got)
	}
	checkSameTree(t, tree, before)

	p.fixes = load(map[string]string{"01-broken": use + "nothing }\n"})
	path = checkBuild(t, "does not compile", tree, p, fmt.Sprintf(hookedPlugin, "P"), "leaves out the fixes (broken) because they do not compile in OPA 1.5.0: ", "undefined: nothing")
	if got := inspect(t, path).Fixes; got != "" {
		t.Errorf("the binary names the fixes %q", got)
	}
}

// With the plugin, the server's fix needs the hook's.
func TestFitHook(t *testing.T) {
	t.Parallel()
	const (
		server = "v1/a.go A\n-var A = 1\n+var A = 2\n"
		hooked = "v1/a.go A\n-var A = 2\n+var A = 3\n"
		other  = "v1/b.go B\n-var B = 1\n+var B = 2\n"
	)
	steps, err := loadSteps(fstest.MapFS{
		"01-no-op-server/changes.txt":    {Data: []byte(server)},
		"02-other/changes.txt":           {Data: []byte(other)},
		"03-" + hookFix + "/changes.txt": {Data: []byte(hooked + "\nv1/c.go C\n-var C = 1\n+var C = 2\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b, c int // of the tree
		hook    bool
		fixes   string
		says    int // lines, the last with text
		text    string
	}{
		{1, 1, 1, true, "no-op-server, other, " + hookFix, 0, ""},
		{1, 1, 1, false, "no-op-server, other", 0, ""},
		{1, 1, 9, false, "no-op-server, other", 0, ""},
		{1, 1, 9, true, "other", 1, "leaves out the fix no-op-server: OPA 1.5.0 does not fit the fix " + hookFix},
		{2, 1, 1, true, "other, " + hookFix, 1, "leaves out the fix no-op-server: OPA 1.5.0 has it already, or differs in v1/a.go\n"},
		{3, 2, 2, true, "", 2, "leaves out the fix other: "},
		{3, 2, 2, false, "", 2, "leaves out the fix other: "},
		{9, 1, 1, true, "other", 1, "leaves out the fix no-op-server: "},
	} {
		dir := writeTree(t, map[string]string{
			"v1/a.go": fmt.Sprintf("package v1\n\nvar A = %d\n", c.a),
			"v1/b.go": fmt.Sprintf("package v1\n\nvar B = %d\n", c.b),
			"v1/c.go": fmt.Sprintf("package v1\n\nvar C = %d\n", c.c),
		})
		var lines strings.Builder
		p := parts{fixes: slices.Clone(steps)}
		if err := p.fit(dir, "1.5.0", c.hook, progress{&lines, time.Now()}); err != nil {
			t.Fatal(err)
		}
		if got := lines.String(); p.fixed() != c.fixes || !strings.Contains(got, c.text) || strings.Count(got, "\n") != c.says {
			t.Errorf("%+v: got %q, and said %q", c, p.fixed(), got)
		}
	}
}

// Each release has the fixes that fit, and a hook.
func TestFixesOfReleases(t *testing.T) {
	all, err := fixes()
	if err != nil || len(all) != len(fixNames) {
		t.Fatalf("%d fixes, want %d: %v", len(all), len(fixNames), err)
	}
	for version, want := range map[string]string{
		OldestVersion: "", "v1.10.1": "split-chunks", "v1.21.4": "no-op-default, split-chunks",
		newestMinor + ".0": strings.Join(fixNames, ", "), NewestVersion: strings.Join(fixNames, ", "),
	} {
		t.Run(version, func(t *testing.T) {
			source, p := sourceOf(t, version), parts{dropIn: loadDropIn().withoutTests(), fixes: all}
			if err := p.fit(source, version, true, progress{}); err != nil {
				t.Fatal(err)
			}
			if got := p.fixed(); got != want {
				t.Errorf("takes %q, want %q", got, want)
			}
			if os.Getenv("REGOMETER_SLOW_TESTS") == "" || p.has(hookFix) || len(p.fixes) == 0 {
				return // other tests build these
			}
			dir := t.TempDir()
			if err := copyTree(t.Context(), dir, source); err != nil {
				t.Fatal(err)
			}
			if err := ApplySteps(dir, p.fixes); err != nil {
				t.Fatal(err)
			}
			mustHook(t, dir)
			c := gotool.Command{Dir: dir, Env: []string{"CGO_ENABLED=0"}, Args: []string{"build", "-mod=mod", "-buildvcs=false", "-trimpath", "./v1/runtime", "./v1/sdk"}}
			if out, err := c.Output(t.Context()); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
