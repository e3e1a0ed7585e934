// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/opa/opabuild/internal/gotool"
)

// VerifyPackages are the packages of OPA whose tests [Verify] runs if it is
// told none: all that record metrics, hand them on or show them.
var VerifyPackages = []string{
	"v1/metrics", "v1/server/...", "v1/topdown", "v1/rego", "v1/plugins/...", "v1/profiler", "v1/storage/...",
	"v1/sdk", "v1/bundle", "v1/tester", "v1/ast", "v1/repl", "v1/download", "v1/loader", "v1/runtime",
	"v1/test/e2e/metrics", "v1/test/e2e/metricsexport",
	"internal/prometheus", "internal/presentation", "internal/wasm/sdk/...", "cmd",
}

// QuickPackages are a part of VerifyPackages that takes one to two minutes a
// side once it is compiled.
var QuickPackages = []string{
	"v1/metrics", "v1/profiler", "v1/rego", "v1/topdown", "v1/server", "v1/sdk", "v1/plugins/logs", "v1/plugins/status", "v1/test/e2e/metrics",
	"v1/test/e2e/metricsexport", "internal/prometheus", "internal/presentation",
}

// needsInternet names packages whose tests want hosts on the Internet. They
// run only if they are asked for by this name.
var needsInternet = []string{"v1/plugins/rest"}

// VerifyOptions say what to verify. The zero value runs the tests of
// [VerifyPackages] in [NewestVersion].
type VerifyOptions struct {
	OPA string // as in Options
	// Packages are folders in OPA's tree, "v1/server" or "v1/plugins/...".
	Packages []string
	Run      string    // as go test -run: only the tests that match; "" = all
	Count    int       // runs of each test; 0 = 1
	Keep     string    // a folder for the output of what failed; "" = none
	Progress io.Writer // nil = silent
}

// Verify runs OPA's own tests on OPA as it is and on OPA with the drop-in and
// its tests, one package after another, then OPA's linter on v1/metrics. What
// fails is no error, but part of the report.
//
// A test that fails, or is missing, with the drop-in alone is run once more
// on both sides, so that one which fails now and then is not laid to the
// drop-in.
func Verify(ctx context.Context, o VerifyOptions) (*Report, error) {
	d, err := loadFiles()
	if err != nil {
		return nil, err
	}
	return verifyWith(ctx, o, d)
}

func verifyWith(ctx context.Context, o VerifyOptions, d dropIn) (*Report, error) {
	if _, err := regexp.Compile(o.Run); err != nil {
		return nil, fmt.Errorf("which tests to run: %w", err)
	}
	src, err := findSource(ctx, o.OPA)
	if err != nil {
		return nil, err
	}
	env, err := gotool.Env(ctx, targetVariables...)
	if err != nil {
		return nil, err
	}
	c, err := openCache()
	if err != nil {
		return nil, err
	}
	v := verifier{options: o, progress: progress{o.Progress, time.Now()}}
	// The folders have the same names each time: by them Go's build cache
	// knows the packages again.
	dir, release, err := c.workDir(ctx, "verify", func() { v.progress.printf("waiting for another verification to end") })
	if err != nil {
		return nil, withHint(err)
	}
	defer func() { _ = release() }()
	v.opa, v.ours = filepath.Join(dir, "opa"), filepath.Join(dir, "regometer")
	v.progress.printf("getting %s", src.name)
	b := builder{src: src, env: env, progress: v.progress}
	if err := b.prepare(ctx, v.opa); err != nil {
		return nil, withHint(err)
	}
	var note string
	if b.dropIn, note, err = d.upstream(v.opa, nil); err != nil {
		return nil, err
	}
	if note != "" {
		v.progress.printf("%s", note)
	}
	if err := b.prepare(ctx, v.ours); err != nil {
		return nil, withHint(err)
	}
	temp := filepath.Join(dir, "tmp") // as in builder.compile
	if err := os.Mkdir(temp, 0o755); err != nil {
		return nil, withHint(err)
	}
	v.env = []string{"CGO_ENABLED=0", "GOTMPDIR=" + temp}
	tags, err := buildTags(v.opa)
	if err != nil {
		return nil, err
	}
	v.flags = []string{"-tags=" + strings.Join(append(tags, "slow"), ","), "-timeout=30m", "-count=" + strconv.Itoa(max(o.Count, 1))}
	return v.run(ctx, src.name)
}

// A verifier tests two source trees.
type verifier struct {
	options   VerifyOptions
	opa, ours string   // the trees
	flags     []string // of go test
	env       []string
	progress  progress
}

func (v *verifier) run(ctx context.Context, name string) (*Report, error) {
	packages, err := v.packages(ctx)
	if err != nil {
		return nil, err
	}
	report := &Report{OPA: name}
	if report.LeftOut, err = v.leftOut(); err != nil {
		return nil, err
	}
	if v.options.Keep != "" {
		if err := os.MkdirAll(v.options.Keep, 0o755); err != nil {
			return nil, withHint(err)
		}
	}
	for i, pkg := range packages {
		v.progress.printf("%d of %d: %s", i+1, len(packages), pkg)
		stop := v.progress.every(30*time.Second, func() string { return "still testing " + pkg })
		p, err := v.verifyPackage(ctx, pkg, report.LeftOut)
		stop()
		if err != nil {
			return nil, fmt.Errorf("testing %s: %w", pkg, err)
		}
		v.progress.printf("%d of %d: %s: OPA %s; with the drop-in %s", i+1, len(packages), pkg, p.Unmodified, p.DropIn)
		report.Packages = append(report.Packages, *p)
	}
	if slices.Contains(packages, filepath.ToSlash(metricsDir)) && v.options.Run == "" {
		v.progress.printf("running OPA's linter on v1/metrics; the first time it has to be compiled")
		stop := v.progress.every(30*time.Second, func() string { return "still at the linter" })
		l, err := lint(ctx, linter(v.opa), v.opa, v.ours)
		stop()
		if err != nil {
			return nil, err
		}
		report.Lint = &l
	}
	return report, nil
}

// packages returns the packages to test that have tests, without the prefix
// of OPA's module.
func (v *verifier) packages(ctx context.Context) ([]string, error) {
	patterns := v.options.Packages
	byDefault := len(patterns) == 0
	if byDefault {
		patterns = VerifyPackages
	}
	args := []string{"list", "-mod=mod", v.flags[0], "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}
	var asked []string
	for _, p := range patterns {
		p = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(p, opaModule), "./"), "/")
		folder := filepath.Join(v.opa, filepath.FromSlash(strings.TrimSuffix(p, "...")))
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || !filepath.IsLocal(filepath.FromSlash(p)) {
			if byDefault {
				continue // this OPA has no such package yet
			}
			return nil, fmt.Errorf("%s is not in this OPA", p)
		}
		asked = append(asked, p)
		args = append(args, "./"+p)
	}
	out, err := gotool.Command{Dir: v.opa, Args: args, Env: v.env}.Output(ctx)
	if err != nil {
		return nil, err
	}
	var packages []string
	for _, path := range strings.Fields(string(out)) {
		pkg := strings.TrimPrefix(path, opaModule+"/")
		if !slices.Contains(needsInternet, pkg) || slices.Contains(asked, pkg) {
			packages = append(packages, pkg)
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(asked, ", "))
	}
	return packages, nil
}

// leftOut returns the names of OPA's tests that leave with the files they test,
// and have no successor of the same name.
func (v *verifier) leftOut() ([]string, error) {
	opa, err := testsIn(filepath.Join(v.opa, metricsDir))
	if err != nil {
		return nil, err
	}
	ours, err := testsIn(filepath.Join(v.ours, metricsDir))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(opa, func(name string, _ bool) bool { return ours[name] })
	return slices.Sorted(maps.Keys(opa)), nil
}

var testName = regexp.MustCompile(`^(Test|Example|Fuzz)`)

// testsIn returns the names of the tests in a folder.
func testsIn(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for id := range declared(file, text) {
			if _, name, _ := strings.Cut(id, "."); testName.MatchString(name) {
				names[name] = true
			}
		}
	}
	return names, nil
}

func (v *verifier) verifyPackage(ctx context.Context, pkg string, leftOut []string) (*PackageReport, error) {
	if pkg != filepath.ToSlash(metricsDir) {
		leftOut = nil
	}
	first, err := v.both(ctx, pkg, v.options.Run)
	if err != nil {
		return nil, err
	}
	p := &PackageReport{Package: pkg, Unmodified: first.opa.side(), DropIn: first.ours.side()}
	suspects := first.suspects(leftOut)
	second := bothRuns{}
	if len(suspects) > 0 {
		v.progress.printf("%s: %d tests fail or are missing with the drop-in alone: once more on both sides", pkg, len(suspects))
		if second, err = v.both(ctx, pkg, rerun(suspects, v.options.Run)); err != nil {
			return nil, err
		}
	}
	p.Findings = judge(first, second, suspects)
	if v.options.Keep != "" && len(p.Findings) > 0 {
		file := filepath.Join(v.options.Keep, strings.ReplaceAll(pkg, "/", "_"))
		for side, r := range map[string]*testRun{"opa": first.opa, "regometer": first.ours} {
			if err := writeOutput(file+"."+side+".txt", []byte(r.failureOutput(""))); err != nil {
				return nil, withHint(err)
			}
		}
	}
	return p, nil
}

// both runs a package's tests on OPA as it is, then with the drop-in.
func (v *verifier) both(ctx context.Context, pkg, run string) (r bothRuns, err error) {
	flags := v.flags
	if run != "" {
		flags = append(flags[:len(flags):len(flags)], "-run="+run)
	}
	if r.opa, err = runTests(ctx, v.opa, "./"+pkg, flags, v.env); err != nil {
		return r, err
	}
	r.ours, err = runTests(ctx, v.ours, "./"+pkg, flags, v.env)
	return r, err
}

type bothRuns struct{ opa, ours *testRun }

// suspects returns the tests that do worse with the drop-in, sorted. "" among
// them is the package as a whole. leftOut are no suspects.
func (r bothRuns) suspects(leftOut []string) []string {
	var names []string
	for name := range r.opa.results {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(leftOut, top) && r.worse(name) {
			names = append(names, name)
		}
	}
	for name := range r.ours.results {
		if _, known := r.opa.results[name]; !known && r.worse(name) {
			names = append(names, name)
		}
	}
	if r.worse("") {
		names = append(names, "")
	}
	slices.Sort(names)
	return names
}

// worse reports whether a test does worse with the drop-in: it fails, is
// missing or is skipped where it is not so on the unmodified OPA.
func (r bothRuns) worse(test string) bool {
	if test == "" {
		return r.ours.broken() && !r.opa.broken()
	}
	opa, ours := r.opa.results[test], r.ours.results[test]
	return ours != opa && ours != "pass" && opa != "fail" && (opa != "" || ours == "fail")
}

// rerun returns what go test -run runs the suspects again by.
func rerun(suspects []string, run string) string {
	if suspects[0] == "" {
		return run // the whole package
	}
	var tops []string
	for _, name := range suspects {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	return "^(" + strings.Join(tops, "|") + ")$"
}

// judge says what is to be said of each test that failed on either side. The
// second run is empty if there were no suspects.
func judge(first, second bothRuns, suspects []string) []Finding {
	findings := map[string]Finding{}
	for _, name := range suspects {
		f := Finding{Test: name, Kind: Flaky, Output: first.ours.failureOutput(name)}
		switch {
		case second.worse(name):
			f.Kind, f.Output = FailsWithDropIn, second.ours.failureOutput(name)
			if name != "" && second.ours.results[name] != "fail" {
				f.Kind = MissingWithDropIn
			}
		case name != "" && second.opa.results[name] == "fail" || name == "" && second.opa.broken():
			f.Kind, f.Output = FailsOnOPA, second.opa.failureOutput(name)
		}
		findings[name] = f
	}
	for name, result := range first.opa.results {
		if result == "fail" {
			f := Finding{Test: name, Kind: FailsOnOPA, Output: first.opa.failureOutput(name)}
			if first.ours.results[name] == "pass" {
				f.Kind = FailsOnOPAOnly
			}
			findings[name] = f
		}
	}
	if first.opa.broken() {
		findings[""] = Finding{Kind: FailsOnOPA, Output: first.opa.failureOutput("")}
	}
	// A test fails with the tests below it, and is missing with those above:
	// one of them is enough.
	said := func(name string, f Finding) bool {
		if all, ok := findings[""]; ok && all.Kind == FailsWithDropIn && f.Kind == MissingWithDropIn {
			return true // because the package is broken
		}
		for other, o := range findings {
			below := f.Kind != MissingWithDropIn && strings.HasPrefix(other, name+"/") && name != ""
			above := f.Kind == MissingWithDropIn && strings.HasPrefix(name, other+"/") && other != ""
			if o.Kind == f.Kind && (below || above) {
				return true
			}
		}
		return false
	}
	var list []Finding
	for name, f := range findings {
		if !said(name, f) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Test, b.Test))
	})
	return list
}
