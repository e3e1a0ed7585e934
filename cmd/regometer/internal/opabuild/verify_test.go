// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fakeRun returns a run with results such as "A:pass B/x:fail". A package
// named broken failed without a failing test.
func fakeRun(results string) *testRun {
	r := &testRun{results: map[string]string{"": "pass"}, output: map[string][]byte{}}
	for _, f := range strings.Fields(results) {
		name, result, _ := strings.Cut(f, ":")
		if name == "broken" {
			name, result = "", "fail"
		}
		r.results[name] = result
	}
	return r
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name                   string
		opa1, ours1            string
		opa2, ours2            string // "" = no second run is due
		rerun, want, suspected string
	}{
		{"all pass", "A:pass B:skip", "A:pass B:skip", "", "", "", "", ""},
		{"fails", "A:pass B:pass", "A:pass B:fail", "B:pass", "B:fail", "^(B)$", "0 B", "B"},
		{"fails below", "A:pass A/x:pass A/y:pass", "A:fail A/x:fail A/y:pass", "A:pass A/x:pass", "A:fail A/x:fail", "^(A)$", "0 A/x", "A A/x"},
		{"flaky", "A:pass B:pass", "A:fail B:pass", "A:pass", "A:pass", "^(A)$", "3 A", "A"},
		{"flaky on both", "A:pass", "A:fail", "A:fail", "A:fail", "^(A)$", "2 A", "A"},
		{"fails on both", "A:fail A/x:fail", "A:fail A/x:fail", "", "", "", "2 A/x", ""},
		{"fails on OPA only", "A:fail", "A:pass", "", "", "", "2 A", ""},
		{"broken on OPA only", "broken:", "A:pass", "", "", "", "2 ", ""},
		{"broken on OPA, fails", "broken:", "A:fail", "", "", "", "2 ", ""},
		{"missing", "A:pass A/x:pass B:pass", "B:pass", "A:pass A/x:pass", "B:pass", "^(A)$", "1 A", "A A/x"},
		{"skipped", "A:pass", "A:skip", "A:pass", "A:skip", "^(A)$", "1 A", "A"},
		{"no longer skipped", "A:skip", "A:pass", "", "", "", "", ""},
		{"random names", "A:pass A/1:pass", "A:pass A/2:pass", "A:pass A/3:pass", "A:pass A/4:pass", "^(A)$", "3 A/1", "A/1"},
		{"only in ours, fails", "A:pass", "A:pass A/2:fail", "A:pass", "A:pass A/2:fail", "^(A)$", "0 A/2", "A/2"},
		{"broken", "A:pass", "broken:", "A:pass", "broken:", "old", "0 ", " A"},
		{"broken once", "A:pass", "broken:", "A:pass", "A:pass", "old", "3 ;3 A", " A"},
		{"broken on both", "broken:", "broken:", "", "", "", "2 ", ""},
		{"left out", "Gone:pass Gone/x:pass A:pass", "A:pass", "", "", "", "", ""},
	} {
		first := bothRuns{fakeRun(c.opa1), fakeRun(c.ours1)}
		suspects := first.suspects([]string{"Gone"})
		if got := strings.Join(suspects, " "); got != c.suspected {
			t.Errorf("%s: suspects %q, want %q", c.name, got, c.suspected)
			continue
		}
		var second bothRuns
		if (len(suspects) > 0) != (c.opa2 != "") {
			t.Errorf("%s: a second run is due: %t", c.name, len(suspects) > 0)
			continue
		}
		if len(suspects) > 0 {
			second = bothRuns{fakeRun(c.opa2), fakeRun(c.ours2)}
			if got := rerun(suspects, "old"); got != c.rerun {
				t.Errorf("%s: runs %q again, want %q", c.name, got, c.rerun)
			}
		}
		var got []string
		for _, f := range judge(first, second, suspects) {
			got = append(got, fmt.Sprintf("%d %s", f.Kind, f.Test))
		}
		if strings.Join(got, ";") != c.want {
			t.Errorf("%s: findings %q, want %q", c.name, got, c.want)
		}
	}
	broken := Side{Broken: 1}
	for want, r := range map[string]Report{
		"FAIL: no test of X ran on the unmodified OPA": {OPA: "X", Packages: []PackageReport{{Unmodified: broken}, {Unmodified: Side{Skipped: 1}}}},
		"ok: no test of X does worse with the drop-in": {OPA: "X", Packages: []PackageReport{{Unmodified: broken}, {Unmodified: Side{Passed: 1}, Changed: broken}}},
	} {
		if got, ok := r.verdict(); got != want || ok != strings.HasPrefix(want, "ok") {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

// Real runs of go test, on a tree with a test of each kind.
func TestVerify(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test many times")
	}
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	files := opaTree()
	files["internal/user/user_test.go"] = `package user

import (
	"os"
	"testing"
)

func TestSame(t *testing.T) { t.Run("below", func(*testing.T) {}) }

func TestRegression(t *testing.T) {
	t.Run("below", func(t *testing.T) {
		if Use() != "OPA" {
			t.Error("not OPA's")
		}
	})
}

func TestNamed(t *testing.T) { t.Run(Use(), func(*testing.T) {}) }

func TestNeedsTool(t *testing.T) { t.Fatal("no such tool") }

// This test fails if it runs twice.
func TestOnce(t *testing.T) {
	if runs++; runs > 1 {
		t.Fatal("twice")
	}
}

var runs int

// This test fails the first time with the drop-in.
func TestFlaky(t *testing.T) {
	if _, err := os.Stat("A"); err != nil && Use() == "A" {
		os.WriteFile("A", nil, 0o644)
		t.Error("flaky")
	}
}
`
	files["internal/none/none_test.go"] = "package none\n\nimport \"testing\"\n\nfunc TestMain(*testing.M) { panic(\"no such server\") }\n\nfunc TestNone(*testing.T) {}\n"
	files["internal/crash/crash_test.go"] = `package crash

import (
	"os"
	"testing"

	"github.com/open-policy-agent/opa/internal/user"
)

func TestFine(*testing.T) {}

func TestMain(m *testing.M) {
	if user.Use() != "OPA" {
		os.Exit(3)
	}
	m.Run()
}
`
	files["internal/tagged/tagged_test.go"] = "//go:build opa_wasm && slow\n\npackage tagged\n\nimport \"testing\"\n\nfunc TestTagged(*testing.T) {}\n"
	var progress bytes.Buffer
	o := VerifyOptions{
		Options:  Options{OPA: writeTree(t, files), Local: !slow, Progress: &progress, with: &parts{dropIn: fakeDropIn("A")}},
		Packages: []string{"v1/metrics", "./internal/...", "nothing"},
	}
	if _, err := Verify(t.Context(), o); err == nil {
		t.Error("Verify accepts a package that does not exist")
	}
	o.Packages = o.Packages[:2]
	r, err := Verify(t.Context(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	var got []string
	for _, p := range r.Packages {
		got = append(got, fmt.Sprintf("%s %d/%d/%d/%d %d/%d/%d/%d", p.Package,
			p.Unmodified.Passed, p.Unmodified.Failed, p.Unmodified.Skipped, p.Unmodified.Broken,
			p.Changed.Passed, p.Changed.Failed, p.Changed.Skipped, p.Changed.Broken))
		for _, f := range p.Findings {
			got = append(got, fmt.Sprintf("  %d %s", f.Kind, f.Test))
		}
	}
	want := []string{
		"v1/metrics 2/0/0/0 1/0/0/0",
		"internal/crash 1/0/0/0 0/0/0/1", "  0 ",
		"internal/none 0/0/0/1 0/0/0/1", "  2 ",
		"internal/tagged 1/0/0/0 1/0/0/0",
		"internal/user 8/1/0/0 5/4/0/0",
		"  0 TestRegression/below", "  1 TestNamed/OPA", "  2 TestNeedsTool", "  3 TestFlaky",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.OK() || !slices.Equal(r.Packages[0].LeftOut, []string{"TestSample"}) {
		t.Errorf("OK is %t; left out are %q", r.OK(), r.Packages[0].LeftOut)
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"package          OPA: passed  failed  skipped  broken  seconds  drop-in: passed  failed  skipped  broken  seconds\n",
		"\ninternal/none: fails on the unmodified OPA, on this machine\n    panic: no such server\n",
		"\ninternal/user TestRegression/below: FAILS with the drop-in",
		"    user_test.go:13: not OPA's\n",
		"\ninternal/user TestNeedsTool: fails on the unmodified OPA",
		"\nv1/metrics: not run with the drop-in, which removes the code that they test:\n    TestSample\n",
		"\nFAIL: 3 tests of OPA in ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, &text)
		}
	}
	if strings.Contains(text.String(), "no such tool") {
		t.Error("the report shows the output of what fails on OPA too")
	}
	o.Packages, o.Run = []string{"internal/user"}, "TestSame|TestNeedsTool"
	if r, err = Verify(t.Context(), o); err != nil || !r.OK() || r.Packages[0].Changed.Passed != 2 {
		t.Errorf("with --run: %+v, %v", r, err)
	}
	o.Run, o.Count = "TestOnce", 2
	if r, err = Verify(t.Context(), o); err != nil || r.Packages[0].Unmodified.Failed != 1 {
		t.Errorf("with --count: %+v, %v", r, err)
	}
}

// With steps, a test that they take out is named, one that they add runs, and
// the report speaks of the series.
func TestVerifyUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test")
	}
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	files := fixtureTree()
	files["v1/metrics/metrics_test.go"] += "\nfunc TestWho(t *testing.T) {\n\tif got := New(\"\").Stop(1); got != \"OPA\" {\n\t\tt.Error(got)\n\t}\n}\n"
	steps := mustLoad(t, fixtureSteps())
	r, err := Verify(t.Context(), VerifyOptions{Options: Options{OPA: writeTree(t, files), Local: !slow, with: &parts{steps: steps}}, Packages: []string{"v1/metrics"}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Packages[0]
	if p.Unmodified.Passed != 3 || p.Changed.Passed != 2 || p.Changed.Failed != 1 || !slices.Equal(p.LeftOut, []string{"TestSample"}) ||
		len(p.Findings) != 1 || p.Findings[0].Test != "TestWho" {
		t.Errorf("got %+v", r)
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  series: passed  failed",
		"\nv1/metrics TestWho: FAILS with the series for OPA up to step 2, passes on the unmodified OPA",
		": TWO STEPS\n",
		"\nv1/metrics: not run with the series for OPA up to step 2, which removes the code that they test:\n    TestSample\n",
		" do worse with the series for OPA up to step 2\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, &text)
		}
	}
	if strings.Contains(text.String(), "drop-in") {
		t.Errorf("the report speaks of the drop-in:\n%s", &text)
	}
}

func TestQuickPackages(t *testing.T) {
	for _, p := range QuickPackages {
		inAll := func(all string) bool {
			prefix, deep := strings.CutSuffix(all, "/...")
			return p == all || deep && strings.HasPrefix(p, prefix)
		}
		if !slices.ContainsFunc(VerifyPackages, inAll) {
			t.Errorf("%s is not in VerifyPackages", p)
		}
	}
}
