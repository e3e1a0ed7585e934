// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/gotool"
	"github.com/regometer/regometer/internal/app/outfile"
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
	OPA      string // as in Options
	Upstream int    // as in Options
	// Program runs the tests of a program with OPA inside. Dir and Flags, for
	// go test, are as in Options.
	Program bool
	Dir     string
	Flags   []string
	// Packages are folders in OPA's tree, "v1/server" or "v1/plugins/...", or
	// of a program as go test takes them; none is "./...".
	Packages []string
	Run      string    // as go test -run: only the tests that match; "" = all
	Count    int       // runs of each test; 0 = 1
	NoLint   bool      // without OPA's linter
	Keep     string    // a folder for the output of what failed; "" = none
	Progress io.Writer // nil = silent
}

// Verify runs tests on OPA as it is and on OPA with a change: the drop-in or
// steps of the series. The tests are OPA's own, with those of the change, or of
// a program with OPA inside. It tests one package after another, then runs
// OPA's linter on the packages that change. Failing tests are no error, but
// part of the report.
//
// Verify repeats on both sides a test that fails, or is missing, only with the
// change. So it does not blame the change for a test that fails now and then.
func Verify(ctx context.Context, o VerifyOptions) (*Report, error) {
	options := Options{OPA: o.OPA, Upstream: o.Upstream, NoPlugin: true}
	p, err := options.parts()
	if err == nil && o.Upstream == 0 && !o.Program {
		p.dropIn, err = loadDropIn() // with its tests
	}
	if err != nil {
		return nil, err
	}
	o.OPA = options.opa()
	return verifyWith(ctx, o, p)
}

func verifyWith(ctx context.Context, o VerifyOptions, p parts) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	v := &verifier{options: o, parts: p, progress: progress{o.Progress, time.Now()}}
	open := v.openOPA
	if o.Program {
		open = v.openProgram
	}
	name, packages, done, err := open(ctx)
	defer done()
	if err != nil {
		return nil, withHint(err)
	}
	report, err := v.run(ctx, name, packages)
	if err != nil || o.Program {
		return report, err
	}
	return report, v.lint(ctx, report, packages)
}

// check returns what can be told to be wrong before anything is run.
func (o VerifyOptions) check() error {
	if _, err := regexp.Compile(o.Run); err != nil {
		return fmt.Errorf("which tests to run: %w", err)
	}
	if o.Keep == "" {
		return nil
	}
	entries, err := os.ReadDir(o.Keep)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), keptOPA) && !strings.HasSuffix(e.Name(), keptOurs) {
			return fmt.Errorf("%s holds something else than kept output (%s): name a new or an empty folder", o.Keep, e.Name())
		}
	}
	return err
}

// How the files in the folder of VerifyOptions.Keep end.
const (
	keptOPA  = ".opa.txt"
	keptOurs = ".regometer.txt"
)

// A side is how the go command is run on one of two sources: where, with which
// build flags and in which environment.
type side struct {
	dir     string
	flags   []string
	env     []string
	userEnv bool // as in gotool.Command
}

// command returns an invocation with the flags after its first argument.
func (s side) command(arg string, args ...string) gotool.Command {
	return gotool.Command{Dir: s.dir, Args: slices.Concat([]string{arg}, s.flags, args), Env: s.env, UserEnv: s.userEnv}
}

// A verifier tests two sides: two copies of OPA's source, or a program with one
// OPA and another.
type verifier struct {
	options VerifyOptions
	parts
	opa, ours side
	flags     []string // of go test alone
	args      []string // of the tests themselves, from -args on
	pattern   string   // makes a package's name a pattern for go test
	progress  progress
}

// openOPA makes both copies. The caller must call done, even after an error.
func (v *verifier) openOPA(ctx context.Context) (name string, packages []string, done func(), err error) {
	done = func() {}
	src, err := findSource(ctx, v.options.OPA)
	if err != nil {
		return "", nil, done, err
	}
	c, err := openCache()
	if err != nil {
		return "", nil, done, err
	}
	// OPA's tests write into their folders.
	temp, done, err := c.workDir(ctx, "verify", func() { v.progress.printf("waiting for another verification to end") })
	if err != nil {
		return "", nil, func() {}, err
	}
	v.progress.printf("getting %s", src.name)
	if _, _, err := src.fetch(ctx); err != nil {
		return "", nil, done, err
	}
	if v.dropIn != nil {
		d, note, err := v.dropIn.upstream(src.dir)
		if err != nil {
			return "", nil, done, err
		}
		v.dropIn = d
		if note != "" {
			v.progress.printf("%s", note)
		}
	}
	tags, err := buildTags(src.dir, "slow")
	if err != nil {
		return "", nil, done, err
	}
	change, err := v.change(src.dir)
	if err != nil {
		return "", nil, done, err
	}
	v.opa = side{
		dir:   src.dir,
		env:   []string{"CGO_ENABLED=0", "GOTMPDIR=" + temp}, // as in compile
		flags: []string{"-mod=readonly", "-buildvcs=false", tags},
	}
	if packages, err = v.packages(ctx); err != nil {
		return "", nil, done, err
	}
	v.flags, v.pattern, v.ours = []string{"-timeout=30m"}, "./", v.opa
	if v.opa.dir, err = src.copy(ctx, c, nil, "verify", v.progress); err == nil {
		v.ours.dir, err = src.copy(ctx, c, change, "verify", v.progress)
	}
	return src.name, packages, done, err
}

// openProgram finds the program's packages and makes its side with the drop-in.
// The caller must call done, even after an error.
func (v *verifier) openProgram(ctx context.Context) (name string, packages []string, done func(), err error) {
	p, err := openModule(ctx, Options{Dir: v.options.Dir, Flags: v.options.Flags, Progress: v.options.Progress}, v.parts)
	done = p.Close
	if err != nil {
		return "", nil, done, err
	}
	v.opa, v.flags = p.asIs(), p.flags.all
	if i := slices.IndexFunc(v.flags, isArgs); i >= 0 {
		v.flags, v.args = v.flags[:i], v.flags[i:]
	}
	patterns := v.options.Packages
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	out, err := v.opa.command("list", slices.Concat(p.flags.list(), []string{"-f", withTests, "--"}, patterns)...).Output(ctx)
	if err != nil {
		return "", nil, done, err
	}
	if packages = strings.Fields(string(out)); len(packages) == 0 {
		return "", nil, done, fmt.Errorf("no tests in %s in %s", strings.Join(patterns, ", "), p.dir)
	}
	change, err := p.change(p.source.dir)
	if err != nil {
		return "", nil, done, err
	}
	if v.ours, _, err = p.patched(ctx, change); err != nil {
		return "", nil, done, err
	}
	p.compareModules(ctx, v.ours)
	temp := filepath.Join(p.work, "tmp") // as in compile
	v.opa.env = append(v.opa.env, "GOTMPDIR="+temp)
	v.ours.env = append(v.ours.env, "GOTMPDIR="+temp)
	return "the program in " + p.dir, packages, done, os.Mkdir(temp, 0o755)
}

// isArgs reports whether an argument is the flag of go test after which all
// arguments are for the tests themselves, a package's name too.
func isArgs(arg string) bool { return arg == "-args" || arg == "--args" }

// run tests packages on both sides; name is what the tests are of.
func (v *verifier) run(ctx context.Context, name string, packages []string) (*Report, error) {
	report := &Report{OPA: name, Upstream: len(v.steps)}
	if v.options.Keep != "" {
		if err := os.MkdirAll(v.options.Keep, 0o755); err != nil {
			return nil, withHint(err)
		}
	}
	for i, pkg := range packages {
		v.progress.printf("%d of %d: %s", i+1, len(packages), pkg)
		stop := v.progress.every(30*time.Second, func() string { return "still testing " + pkg })
		p, err := v.verifyPackage(ctx, pkg)
		stop()
		if err != nil {
			return nil, fmt.Errorf("testing %s: %w", pkg, err)
		}
		v.progress.printf("%d of %d: %s: OPA %s; with %s %s", i+1, len(packages), pkg, p.Unmodified, report.change(), p.Changed)
		report.Packages = append(report.Packages, *p)
	}
	return report, nil
}

// folders returns the folders of OPA's tree that the change is made in.
func (v *verifier) folders() []string {
	if len(v.steps) == 0 {
		return []string{metricsDir}
	}
	var folders []string
	for _, s := range v.steps {
		for _, name := range s.Paths() {
			folders = append(folders, path.Dir(name))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// withTests is a template for go list: the packages that have tests.
const withTests = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"

// packages returns the packages to test that have tests, without the prefix
// of OPA's module.
func (v *verifier) packages(ctx context.Context) ([]string, error) {
	patterns := v.options.Packages
	byDefault := len(patterns) == 0
	if byDefault {
		patterns = VerifyPackages
	}
	args := []string{"-f", withTests}
	var asked []string
	for _, p := range patterns {
		p = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(p, opaModule), "./"), "/")
		folder := filepath.Join(v.opa.dir, filepath.FromSlash(strings.TrimSuffix(p, "...")))
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || !filepath.IsLocal(filepath.FromSlash(p)) {
			if byDefault {
				continue // this OPA has no such package yet
			}
			return nil, fmt.Errorf("%s is not in this OPA", p)
		}
		asked = append(asked, p)
		args = append(args, "./"+p)
	}
	out, err := v.opa.command("list", args...).Output(ctx)
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

// leftOut returns the names of OPA's tests in a package that the change takes
// out, and that have no successor of the same name.
func (v *verifier) leftOut(pkg string) ([]string, error) {
	if v.opa.dir == v.ours.dir {
		return nil, nil // a program, whose tests are the same
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
		for _, found := range testFunction.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
	}
	return names, nil
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
		v.progress.printf("%s: %d tests fail or are missing with %s alone: once more on both sides", pkg, len(suspects), changeName(len(v.steps)))
		if second, err = v.both(ctx, pkg, rerun(suspects, v.options.Run)); err != nil {
			return nil, err
		}
	}
	p.Findings = judge(first, second, suspects)
	if v.options.Keep != "" && len(p.Findings) > 0 {
		file := filepath.Join(v.options.Keep, strings.ReplaceAll(pkg, "/", "_"))
		for side, r := range map[string]*testRun{keptOPA: first.opa, keptOurs: first.ours} {
			to, err := outfile.Resolve(file + side)
			if err == nil {
				err = outfile.Write(to, []byte(r.failureOutput("")))
			}
			if err != nil {
				return nil, withHint(err)
			}
		}
	}
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

// suspects returns the tests that do worse with the change, sorted. "" among
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

// worse reports whether a test does worse with the change: it fails, is
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
			f.Kind, f.Output = FailsChanged, second.ours.failureOutput(name)
			if name != "" && second.ours.results[name] != "fail" {
				f.Kind = MissingChanged
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
