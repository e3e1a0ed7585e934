// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// VerifyPackages are the packages of OPA whose tests [Verify] runs by default.
// They are all packages that record metrics, pass them on or show them.
var VerifyPackages = []string{
	"v1/metrics", "v1/server/...", "v1/topdown", "v1/rego", "v1/plugins/...", "v1/profiler", "v1/storage/...",
	"v1/sdk", "v1/bundle", "v1/tester", "v1/ast", "v1/repl", "v1/download", "v1/loader", "v1/runtime",
	"v1/test/e2e/metrics", "v1/test/e2e/metricsexport",
	"internal/prometheus", "internal/presentation", "internal/wasm/sdk/...", "cmd",
}

// QuickPackages are a part of VerifyPackages that takes less than a minute per
// side once it is compiled. v1/topdown alone takes as long as all of these.
var QuickPackages = []string{
	"v1/metrics", "v1/profiler", "v1/rego", "v1/server", "v1/sdk", "v1/plugins/logs", "v1/plugins/status", "v1/test/e2e/metrics",
	"v1/test/e2e/metricsexport", "internal/prometheus", "internal/presentation",
}

// needsInternet names packages whose tests need hosts on the Internet. Verify
// tests them only if VerifyOptions.Packages has exactly this name.
var needsInternet = []string{"v1/plugins/rest"}

// VerifyOptions say what to verify. The zero value runs the tests of
// [VerifyPackages] in [NewestVersion].
type VerifyOptions struct {
	// OPA, Upstream, Local and Progress are as for [Build]. Dir and Flags are as for
	// [OpenProgram], but the flags are for go test. Verify ignores the rest.
	Options
	// Program runs the tests of a program with OPA inside.
	Program bool
	// Packages are folders in OPA's tree, such as "v1/server" or
	// "v1/plugins/...", or packages of a program as go test takes them. The
	// default for a program is "./...".
	Packages []string
	Run      string // the pattern of tests to run, as for go test -run; "" is all
	Count    int    // the number of times that each test runs; 0 is 1
}

// Verify runs tests on OPA as it is and on OPA with a change, which is the
// drop-in or steps of the series. The tests are OPA's own and those of the
// change, or the tests of a program with OPA inside. Verify tests one package
// after another. Failing tests are part of the report, not an error.
//
// Verify repeats a test on both sides if it does worse with the change. So it
// does not blame the change for a test that fails now and then.
func Verify(ctx context.Context, o VerifyOptions) (*Report, error) {
	if _, err := regexp.Compile(o.Run); err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	o.NoPlugin = true
	p, err := o.parts()
	if err != nil {
		return nil, err
	}
	if o.Upstream == 0 && !o.Program && o.with == nil {
		p.dropIn = loadDropIn() // with its tests
	}
	v := &verifier{options: o, parts: p, done: func() {}, progress: progress{o.Progress, time.Now()}}
	open := v.openOPA
	if o.Program {
		open = v.openProgram
	}
	err = open(ctx)
	defer func() { v.done() }()
	if err == nil && len(v.packages) == 0 {
		err = fmt.Errorf("there are no tests in %s", strings.Join(v.options.Packages, ", "))
	}
	if err != nil {
		return nil, withHint(err)
	}
	return v.run(ctx)
}

// A verifier tests two sides. They are two copies of OPA's source, or a program
// with one OPA and with another.
type verifier struct {
	options VerifyOptions
	parts
	name      string   // of the source that is tested
	packages  []string // with tests, in OPA without the prefix of OPA's module
	done      func()   // releases everything
	opa, ours side
	flags     []string // for go test only
	args      []string // of the tests themselves, from -args on
	pattern   string   // makes a package's name a pattern for go test
	progress  progress
}

// openOPA makes both copies of OPA's source.
func (v *verifier) openOPA(ctx context.Context) error {
	src, err := findSource(ctx, v.options.OPA)
	if err != nil {
		return err
	}
	c, err := openCache()
	if err != nil {
		return err
	}
	// OPA's tests write into their folders.
	temp, done, err := c.workDir(ctx, "verify", v.progress)
	if err != nil {
		return err
	}
	v.name, v.done = src.name, done
	v.progress.printf("getting %s", src.name)
	version, _, err := src.fetch(ctx)
	if err != nil {
		return err
	}
	if err := checkOriginal(src.dir); err != nil {
		return err
	}
	if v.dropIn != nil {
		var note string
		if v.dropIn, note, err = v.dropIn.forTests(src.dir); err != nil {
			return err
		}
		if note != "" {
			v.progress.printf("%s", note)
		}
	}
	tags, err := buildTags(src.dir, "slow")
	if err != nil {
		return err
	}
	if err := v.fit(src.dir, version, true, v.progress); err != nil {
		return err
	}
	change, err := v.change(src.dir)
	if err != nil {
		return err
	}
	// With the settings of Build, the packages that it compiled are in Go's cache.
	flags, env := v.options.settings()
	v.opa = side{dir: src.dir, env: append(env, "GOTMPDIR="+temp), flags: append(flags, "-mod=readonly", tags)}
	if err := v.findPackages(ctx); err != nil {
		return err
	}
	v.flags, v.pattern, v.ours = []string{"-timeout=30m"}, "./", v.opa
	v.opa.dir, v.ours.dir = filepath.Join(temp, "unmodified"), filepath.Join(temp, "changed")
	if err := src.write(ctx, v.opa.dir, nil, true, v.progress); err != nil {
		return err
	}
	return src.write(ctx, v.ours.dir, change, true, v.progress)
}

// openProgram finds the program's packages and makes its side with the drop-in.
func (v *verifier) openProgram(ctx context.Context) error {
	p, err := openModule(ctx, v.options.Options)
	v.done = p.Close
	if err != nil {
		return err
	}
	if err := checkOriginal(p.source.dir); err != nil {
		return err
	}
	v.name, v.opa, v.flags = "the program in "+p.dir, p.asIs(), p.flags.all
	if i := slices.IndexFunc(v.flags, isArgs); i >= 0 {
		v.flags, v.args = v.flags[:i], v.flags[i:]
	}
	if len(v.options.Packages) == 0 {
		v.options.Packages = []string{"./..."}
	}
	if v.packages, err = v.withTests(ctx, p.flags.list(), v.options.Packages); err != nil {
		return err
	}
	if err := p.fit(p.source.dir, p.version, true, p.progress); err != nil {
		return err
	}
	change, err := p.change(p.source.dir)
	if err != nil {
		return err
	}
	if v.ours, err = p.patched(ctx, change, nil); err != nil {
		return err
	}
	temp := filepath.Join(p.work, "tmp") // as in compile
	v.opa.env = append(v.opa.env, "GOTMPDIR="+temp)
	v.ours.env = append(v.ours.env, "GOTMPDIR="+temp)
	return os.Mkdir(temp, 0o755)
}

// withTests returns the packages that have tests.
func (v *verifier) withTests(ctx context.Context, flags, patterns []string) ([]string, error) {
	const format = "-f={{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
	out, err := v.opa.command("list", slices.Concat(flags, []string{format, "--"}, patterns)...).Output(ctx)
	return strings.Fields(string(out)), err
}

// isArgs reports whether an argument is the flag of go test after which all
// arguments are for the tests themselves.
func isArgs(arg string) bool { return arg == "-args" || arg == "--args" }

// run tests the packages on both sides.
func (v *verifier) run(ctx context.Context) (*Report, error) {
	report := &Report{OPA: v.name, Upstream: v.upstream()}
	if !v.options.Program { // whose own tests run, not OPA's
		report.ChangedTests = v.changedTests()
	}
	for i, pkg := range v.packages {
		v.progress.printf("%d of %d: %s", i+1, len(v.packages), pkg)
		p, err := v.verifyPackage(ctx, pkg)
		if err != nil {
			return nil, fmt.Errorf("testing %s: %w", pkg, err)
		}
		v.progress.printf("%d of %d: %s: OPA %s; with %s %s", i+1, len(v.packages), pkg, p.Unmodified, changeName(report.Upstream), p.Changed)
		report.Packages = append(report.Packages, *p)
	}
	return report, nil
}

// findPackages finds the packages of OPA to test. An older OPA lacks some of
// VerifyPackages.
func (v *verifier) findPackages(ctx context.Context) error {
	names, flags := v.options.Packages, []string(nil)
	if len(names) == 0 {
		names, flags = VerifyPackages, []string{"-e"}
	}
	var patterns []string
	for _, name := range names {
		patterns = append(patterns, "./"+path.Clean(name))
	}
	packages, err := v.withTests(ctx, flags, patterns)
	for _, path := range packages {
		pkg := strings.TrimPrefix(path, opaModule+"/")
		if !slices.Contains(needsInternet, pkg) || slices.Contains(names, pkg) {
			v.packages = append(v.packages, pkg)
		}
	}
	return err
}

// leftOut returns the names of OPA's tests in a package that the change removes
// without a new test of the same name.
func (v *verifier) leftOut(pkg string) ([]string, error) {
	if v.opa.dir == v.ours.dir {
		return nil, nil // the tests of a program are the same
	}
	opa, err := testsIn(filepath.Join(v.opa.dir, pkg))
	if err != nil {
		return nil, err
	}
	ours, err := testsIn(filepath.Join(v.ours.dir, pkg))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(opa, func(name string, _ bool) bool { return ours[name] })
	return slices.Sorted(maps.Keys(opa)), nil
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)

// testsIn returns the names of the tests in a folder.
func testsIn(dir string) (map[string]bool, error) {
	files, err := goFiles(dir)
	names := map[string]bool{}
	for name, text := range files {
		if isTest(name) {
			for _, found := range testFunction.FindAllSubmatch(text, -1) {
				names[string(found[1])] = true
			}
		}
	}
	return names, err
}

func (v *verifier) verifyPackage(ctx context.Context, pkg string) (*PackageReport, error) {
	leftOut, err := v.leftOut(pkg)
	if err != nil {
		return nil, err
	}
	first, err := v.both(ctx, pkg, v.options.Run)
	if err != nil {
		return nil, err
	}
	p := &PackageReport{Package: pkg, Unmodified: first.opa.side(), Changed: first.ours.side(), LeftOut: leftOut}
	suspects := first.suspects(leftOut)
	second := bothRuns{}
	if len(suspects) > 0 {
		v.progress.printf("%s: %d tests do worse with the change: running them again on both sides", pkg, len(suspects))
		if second, err = v.both(ctx, pkg, rerun(suspects, v.options.Run)); err != nil {
			return nil, err
		}
	}
	p.Findings = judge(first, second, suspects)
	return p, nil
}

// both runs a package's tests on the unmodified OPA, then with the change.
func (v *verifier) both(ctx context.Context, pkg, run string) (r bothRuns, err error) {
	flags := slices.Concat(v.flags, []string{"-count=" + strconv.Itoa(max(v.options.Count, 1))})
	if run != "" {
		flags = append(flags, "-run="+run)
	}
	if r.opa, err = runTests(ctx, v.opa, v.pattern+pkg, flags, v.args); err != nil {
		return r, err
	}
	r.ours, err = runTests(ctx, v.ours, v.pattern+pkg, flags, v.args)
	return r, err
}

type bothRuns struct{ opa, ours *testRun }

// suspects returns the tests that do worse with the change, sorted. "" stands
// for the package as a whole. The tests in leftOut are never suspects.
func (r bothRuns) suspects(leftOut []string) []string {
	var names []string
	all := maps.Clone(r.opa.results)
	maps.Copy(all, r.ours.results)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(leftOut, top) && r.worse(name) {
			names = append(names, name)
		}
	}
	return names
}

// worse reports whether a test does worse with the change: it fails, is missing
// or is skipped, but not on the unmodified OPA. A test that is missing there
// does worse unless the package is broken there.
func (r bothRuns) worse(test string) bool {
	opa, ours := r.opa.results[test], r.ours.results[test]
	return ours != opa && ours != "pass" && opa != "fail" && (opa != "" || ours == "fail" && r.opa.results[""] != "fail")
}

// rerun returns the value of go test -run that runs the suspects again.
func rerun(suspects []string, run string) string {
	if suspects[0] == "" {
		return run // the whole package
	}
	var tops []string
	for _, name := range suspects {
		top, _, _ := strings.Cut(name, "/")
		tops = append(tops, top)
	}
	tops = slices.Compact(tops)
	return "^(" + strings.Join(tops, "|") + ")$"
}

// judge returns a finding for each test that failed on either side. The second
// run is empty if there were no suspects.
func judge(first, second bothRuns, suspects []string) []Finding {
	findings := map[string]Finding{}
	for _, name := range suspects {
		f := Finding{Test: name, Kind: Flaky, Output: first.ours.failureOutput(name)}
		switch {
		case first.worse(name) && second.worse(name):
			f.Kind, f.Output = FailsChanged, second.ours.failureOutput(name)
			if second.ours.results[name] != "fail" {
				f.Kind = MissingChanged
			}
		case second.opa.results[name] == "fail":
			f.Kind, f.Output = FailsOnOPA, second.opa.failureOutput(name)
		}
		findings[name] = f
	}
	for name, result := range first.opa.results {
		if _, ok := findings[name]; !ok && result == "fail" {
			findings[name] = Finding{Test: name, Kind: FailsOnOPA, Output: first.opa.failureOutput(name)}
		}
	}
	// A test fails with its subtests, and a subtest is missing with its test.
	// One finding is enough.
	said := func(name string, f Finding) bool {
		if all, ok := findings[""]; ok && all.Kind == FailsChanged && f.Kind == MissingChanged {
			return true // because the package is broken
		}
		for other, o := range findings {
			below := f.Kind != MissingChanged && strings.HasPrefix(other, name+"/") && name != ""
			above := f.Kind == MissingChanged && strings.HasPrefix(name, other+"/") && other != ""
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
