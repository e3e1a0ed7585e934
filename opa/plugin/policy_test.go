// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/rollup"
)

// checkLabels compares the labels of paths.
func checkLabels(t *testing.T, l *labels, want map[string]string) {
	t.Helper()
	for path, label := range want {
		if got, _ := l.of(path, ""); got.name != label {
			t.Errorf("%s: %q, want %q", path, got.name, label)
		}
	}
}

func withMaxPaths(n int) *Config {
	c := defaultConfig()
	c.MaxPaths = n
	return c
}

// Fifty packages with a rule each have fifty labels, by default.
func TestFiftyPaths(t *testing.T) {
	t.Parallel()
	var modules []string
	want := map[string]string{}
	for i := range 50 {
		modules = append(modules, fmt.Sprintf("package p%d\nallow := true", i))
		want[fmt.Sprintf("p%d/allow", i)] = fmt.Sprintf("p%d/allow", i)
	}
	l := newLabels(defaultConfig(), compile(t, modules...))
	checkLabels(t, l, want)
	if l.counts.own != 50 || l.counts.merged != 0 || l.counts.other != 0 {
		t.Errorf("%+v", l.counts)
	}
	// Nothing is left for the packages themselves.
	if got, known := l.of("p7", ""); got.name != rollup.Other || !got.shared || !known {
		t.Errorf("%q, %t, %t", got.name, got.shared, known)
	}
	if got, known := l.of("p7/nothing", ""); got.name != rollup.Other || got.shared || known {
		t.Errorf("%q, %t, %t", got.name, got.shared, known)
	}
}

// What is asked for comes before what it is made of.
func TestTiers(t *testing.T) {
	t.Parallel()
	c := compile(t, `package a
allow if b_helper
b_helper if c_helper
c_helper := true
f(x) := x
test_allow if allow
decide if not deny
deny if f(input.x)`, `package z
main if data.a.b_helper
test_main if main with input as 1
todo_test_main if main`)
	for _, test := range []struct {
		room int
		want map[string]string
	}{
		{3, map[string]string{"a/allow": "a/allow", "a/decide": "a/decide", "z/main": "z/main", "a": rollup.Other, "a/deny": rollup.Other}},
		{5, map[string]string{"a": "a", "z": "z", "a/b_helper": "a", "a/c_helper": "a", "a/deny": "a", "a/allow": "a/allow"}},
		{7, map[string]string{"a/b_helper": "a/b_helper", "a/c_helper": "a/c_helper", "a/deny": "a"}},
		{8, map[string]string{"a/b_helper": "a/b_helper", "a/c_helper": "a/c_helper", "a/deny": "a/deny"}},
		{2, map[string]string{"a/allow": "a", "a/decide": "a", "z/main": "z/main"}},
		{1, map[string]string{"a/allow": "a", "a/decide": "a", "z/main": rollup.Other}},
	} {
		t.Log(test.room)
		l := newLabels(withMaxPaths(test.room), c)
		checkLabels(t, l, test.want)
		checkLabels(t, l, map[string]string{"a/f": rollup.Other, "a/test_allow": rollup.Other, "z/todo_test_main": rollup.Other})
		if n := len(l.given) - unnamed; n > test.room {
			t.Errorf("%d labels, room for %d", n, test.room)
		}
	}
}

// Rules of one path that need one another make it no helper. Before OPA 1.22,
// there can be no such rules: a reference to one of them is one to all, itself
// included, which is recursion.
func TestTiersOfOnePath(t *testing.T) {
	t.Parallel()
	var major, minor int
	if _, err := fmt.Sscanf(version.Version, "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	if major == 1 && minor < 22 {
		t.Skipf("OPA %s compiles no rules of one path that need one another", version.Version)
	}
	c := compile(t, "package p\nq[x].r := 1 if some x in input.xs\nq[x].s := 2 if { some x in input.xs; q[x].r }", "package z\nmain if h\nh := 1")
	checkLabels(t, newLabels(withMaxPaths(2), c), map[string]string{"p/q/a/s": "p/q", "p/q/a/r": "p/q", "z/main": "z/main", "z/h": rollup.Other})
}

// Of a large bundle, entry points stay apart, whether OPA processes annotations
// or keeps them as comments.
func TestEntryPoints(t *testing.T) {
	t.Parallel()
	var modules []string
	for team := range 10 {
		for app := range 6 {
			var b strings.Builder
			fmt.Fprintf(&b, "package team%d.app%d\n", team, app)
			for rule := range 10 {
				if app == 3 && rule == 4 && team%2 == 0 {
					b.WriteString("# METADATA\n# title: The entry\n# entrypoint: true\n")
				}
				fmt.Fprintf(&b, "rule%d := %d\n", rule, rule)
			}
			modules = append(modules, b.String())
		}
	}
	modules = append(modules, "# METADATA\n# scope: package\n# entrypoint: true\npackage whole\na := 1\nb := 2\n# entrypoint: true\nc := 3\n# METADATA\n# entrypoint: true\n\nd := 4")
	for name, c := range map[string]*ast.Compiler{
		"comments":    compile(t, modules...),
		"annotations": compileWith(t, ast.ParserOptions{ProcessAnnotation: true}, modules[:60]...),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLabels(defaultConfig(), c)
			for team := range 10 {
				path := fmt.Sprintf("team%d/app3/rule4", team)
				got, _ := l.of(path, "")
				if own := got.name == path; own != (team%2 == 0) {
					t.Errorf("%s: %q", path, got.name)
				}
				got, _ = l.of(fmt.Sprintf("team%d/app0/rule9", team), "")
				if !strings.HasPrefix(got.name, fmt.Sprintf("team%d", team)) || !got.shared {
					t.Errorf("team%d: %q", team, got.name)
				}
			}
			if n := len(l.given); n > 50+unnamed {
				t.Errorf("%d labels", n)
			}
			if l.counts.own < 5 || l.counts.own+l.counts.merged+l.counts.other < 600 || l.counts.other != 0 {
				t.Errorf("%+v", l.counts)
			}
			if text := l.counts.String(); !strings.Contains(text, "share that of a package") || len(text) > 500 {
				t.Error(text)
			}
		})
	}
	checkLabels(t, newLabels(withMaxPaths(7), compile(t, modules...)), map[string]string{"whole": "whole", "whole/a": "whole", "whole/c": "whole", "whole/d": "whole/d"})
}

// A server that does not process annotations finds the entry points in the
// comments that others find in the annotations.
func TestEntryPointsInComments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"package p\n# METADATA\n# entrypoint: true\nd := 4":   "p/d",
		"package p\n# METADATA\n# entrypoint: true\n\nd := 4": "p/d",
		// The form that OPA's documentation uses:
		"package p\n# METADATA\n# scope: document\n# entrypoint: true\n\n# METADATA\n# title: One\nd if input.x == 1\n\n# METADATA\n# title: Two\nd if input.x == 2": "p/d",
		"package p\n# METADATA\n# entrypoint: true\n#\n\n# other\nd := 4\ne := 5":                                                                                    "p/d",
		"package p\n# METADATA\n# entrypoint: true # really\nd := 4":                                                                                                 "p/d",
		"package p\n# METADATA\n# \"entrypoint\": true\nd := 4":                                                                                                      "p/d",
		"package p\nc := 1\n# METADATA\n# title: T\n# entrypoint: yes\ndefault d := 4\nd := 5 if input.x":                                                            "p/d",
		"package p\n#METADATA\n#entrypoint: true\nd.e[k] := v if some k, v in input":                                                                                 "p/d/e",
		"# METADATA\n# entrypoint: true\n\npackage p\nd := 4":                                                                                                        "p",
		"package p\n# METADATA\n# entrypoint: false\nd := 4":                                                                                                         "",
		"package p\n# METADATA\n# custom:\n#   entrypoint: true\nd := 4":                                                                                             "",
		"package p\n# METADATA\n# description: |\n#   entrypoint: true\nd := 4":                                                                                      "",
		"package p\n# entrypoint: true\nd := 4":                                                                                                                      "",
	} {
		got, annotated := map[string]bool{}, entryPointsOf(compileWith(t, ast.ParserOptions{ProcessAnnotation: true}, text))
		commentedEntryPoints(ast.MustParseModule(text), got)
		if !maps.Equal(got, annotated) || len(got) > 1 || got[want] != (want != "") {
			t.Errorf("%q: %v by the comments, %v by the annotations, want %q", text, got, annotated, want)
		}
	}
	// OPA has no annotations of these: it refuses them, or there is nothing to
	// annotate.
	for _, text := range []string{
		"package p\nd := 4\n# METADATA\n# entrypoint: true",
		"package p\n# METADATA\n# entrypoint: true\n# scope: rule\nd := 4",
		"package p\n# METADATA\n# entrypoint: [\nd := 4",
	} {
		got := map[string]bool{}
		if commentedEntryPoints(ast.MustParseModule(text), got); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What comments say is what OPA reads in them when it processes annotations.
func TestCommentedEntryPoints(t *testing.T) {
	t.Parallel()
	// check returns how many there are, -1 if OPA refuses the annotations.
	check := func(text string) int {
		t.Helper()
		m, err := ast.ParseModuleWithOpts("m", text, ast.ParserOptions{ProcessAnnotation: true})
		if err != nil {
			return -1
		}
		c := ast.NewCompiler()
		if c.Compile(map[string]*ast.Module{"m": m}); c.Failed() {
			return -1
		}
		comments := map[string]bool{}
		commentedEntryPoints(compile(t, text).Modules["m0"], comments)
		want := map[string]bool{}
		for _, a := range c.GetAnnotationSet().Flatten() {
			if a.Annotations != nil && a.Annotations.Entrypoint {
				want[pathOf(a.Path)] = true
			}
		}
		if !maps.Equal(comments, want) {
			t.Errorf("comments say %v, annotations %v:\n%s", comments, want, text)
		}
		if got := entryPointsOf(c); !maps.Equal(got, want) {
			t.Errorf("entry points %v, want %v:\n%s", got, want, text)
		}
		return len(want)
	}
	lines := []string{"# METADATA", "#METADATA", "# METADATA of this", "# title: x", "# entrypoint: true", "#  entrypoint: true", "# entrypoint: true # so it is",
		"# entrypoint: false", "# custom:", "#   entrypoint: true", "# description: |", "#", "# ", "", "", "# says METADATA", "  # entrypoint: true", "# entrypoint:   true"}
	entryPoints, modules := 0, 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		comments := func() {
			for range random.IntN(6) {
				b.WriteString(lines[random.IntN(len(lines))] + "\n")
			}
		}
		comments()
		b.WriteString("package p\n")
		if random.IntN(4) == 0 {
			b.WriteString("# METADATA\n# entrypoint: true\n")
		}
		for i := range random.IntN(4) {
			comments()
			if random.IntN(3) == 0 {
				b.WriteString("# METADATA\n# entrypoint: true\n")
				comments()
			}
			fmt.Fprintf(&b, "r%d := 1\n", i)
			if random.IntN(4) == 0 {
				fmt.Fprintf(&b, "f%d(x) := y if {\n  # METADATA\n  # entrypoint: true\n  y := x\n}\n", i)
			}
		}
		if n := check(b.String()); n >= 0 {
			modules++
			entryPoints += n
		}
	}
	if modules < 100 || entryPoints < 100 {
		t.Errorf("only %d modules and %d entry points", modules, entryPoints)
	}
	if n := check("# METADATA\n# entrypoint: true\npackage p\nimport rego.v1\n# METADATA\n# entrypoint: true\na.b[x] := 1 if some x in [2]"); n != 2 {
		t.Errorf("%d entry points", n)
	}
}

func compileWith(t testing.TB, o ast.ParserOptions, modules ...string) *ast.Compiler {
	t.Helper()
	parsed := map[string]*ast.Module{}
	for i, text := range modules {
		name := fmt.Sprint("m", i)
		m, err := ast.ParseModuleWithOpts(name, text, o)
		if err != nil {
			t.Fatal(err)
		}
		parsed[name] = m
	}
	c := ast.NewCompiler()
	if c.Compile(parsed); c.Failed() {
		t.Fatal(c.Errors)
	}
	return c
}

// What the configuration names comes first, and takes room.
func TestNamedPathsComeFirst(t *testing.T) {
	t.Parallel()
	c := compile(t, "package p\na := 1\nb := 2\nc := 3", "package tenants.acme\nx := 1", "package tenants.globex\nx := 1\ny := 2")
	config := withMaxPaths(4)
	config.Paths.Allow, config.Paths.Prefixes = []string{"p/c", "not/there"}, []string{"tenants/*"}
	l := newLabels(config, c)
	checkLabels(t, l, map[string]string{
		"p/c": "p/c", "not/there": "not/there", "tenants/acme/x": "tenants/*", "tenants/new": "tenants/*",
		"p/a": "p", "p/b": "p", "p": "p",
	})
	if want := []string{"(data)", "(query)", "not/there", "p", "p/c", "tenants/*"}; !slices.Equal(l.list(), want) {
		t.Errorf("labels %q, want %q", l.list(), want)
	}
	if l.counts.own != 4 || l.counts.merged != 2 || l.counts.other != 0 {
		t.Errorf("%+v", l.counts)
	}
}

func (l *labels) list() []string { return slices.Sorted(maps.Keys(l.given)) }

// Whatever the policy, in whatever order its modules come and its decisions are
// made: two servers label each decision alike, within the limit, and what has
// rules never loses its label to what has none.
func TestLabelsFollowFromPolicy(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		modules, paths := randomPolicy(random)
		config := withMaxPaths(1 + random.IntN(40))
		if random.IntN(3) == 0 {
			config.Paths.Prefixes = []string{"a/*"}
		}
		var first, second *labels
		for _, l := range []**labels{&first, &second} {
			*l = newLabels(config, compile(t, modules...))
			random.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
		}
		if !reflect.DeepEqual(first.list(), second.list()) || !reflect.DeepEqual(first.counts, second.counts) {
			t.Fatalf("seed %d: %q, %+v and %q, %+v", seed, first.list(), first.counts, second.list(), second.counts)
		}
		// Not one label more is given than there is room for, nor one less.
		n, shared := len(first.given)-unnamed, first.counts.merged+first.counts.other
		if n > config.MaxPaths || shared > 0 && n < config.MaxPaths {
			t.Fatalf("seed %d: %d labels, %d are allowed, %d paths share one", seed, n, config.MaxPaths, shared)
		}
		// Of two rules, the less important one has its own label only if the
		// other has.
		least, most := tiers, -1 // tiers of rules without and with their own
		tier := tiersOf(first.policy, first.compiler)
		first.policy.all(func(d *document) {
			switch {
			case len(d.rules) == 0 || first.named.find(d.path) != "":
			case d.label == d.path:
				most = max(most, tier[d])
			default:
				least = min(least, tier[d])
			}
		})
		if least < most {
			t.Errorf("seed %d: rules of tier %d have labels, and not all of tier %d", seed, most, least)
		}
		for _, path := range append(paths, "nothing", "a/nothing/b", "a", "b/c") {
			one, known := first.of(path, "")
			other, _ := second.of(path, "")
			if one.name != other.name || one.shared != other.shared {
				t.Fatalf("seed %d: %s is %q and %q", seed, path, one.name, other.name)
			}
			if one.name != rollup.Other && first.given[one.name] == nil {
				t.Errorf("seed %d: %s: label %q is not among those given", seed, path, one.name)
			}
			if !known && one.name != rollup.Other {
				t.Errorf("seed %d: unknown path %s has label %q", seed, path, one.name)
			}
			inside := one.name == path || strings.HasPrefix(path, one.name+"/") || one.name == "a/*" || one.name == rollup.Other
			if !inside {
				t.Errorf("seed %d: %s has label %q", seed, path, one.name)
			}
		}
		// With room for all, all have their own.
		all := newLabels(withMaxPaths(10_000), compile(t, modules...))
		for _, path := range paths {
			if got, _ := all.of(path, ""); got.name != path || got.shared {
				t.Errorf("seed %d: %s: %q", seed, path, got.name)
			}
		}
	}
}

// randomPolicy returns modules and the paths of their rules.
func randomPolicy(random *rand.Rand) (modules, paths []string) {
	segments := []string{"a", "b", "c", "d"}
	seen := map[string]bool{}
	for range 1 + random.IntN(15) {
		var pkg []string
		for range 1 + random.IntN(4) {
			pkg = append(pkg, segments[random.IntN(len(segments))])
		}
		name := strings.Join(pkg, ".")
		if seen[name] {
			continue
		}
		seen[name] = true
		var b strings.Builder
		if random.IntN(10) == 0 {
			b.WriteString("# METADATA\n# entrypoint: true\n")
		}
		fmt.Fprintf(&b, "package %s\n", name)
		for i := range 1 + random.IntN(8) {
			rule := fmt.Sprintf("r%d", i)
			switch random.IntN(6) {
			case 0:
				b.WriteString("# METADATA\n# entrypoint: true\n")
			case 1:
				fmt.Fprintf(&b, "test_%s if %s == 1\n", rule, rule)
			}
			if i > 0 && random.IntN(2) == 0 {
				fmt.Fprintf(&b, "%s := r%d\n", rule, random.IntN(i))
			} else {
				fmt.Fprintf(&b, "%s := %d\n", rule, i)
			}
			paths = append(paths, strings.Join(pkg, "/")+"/"+rule)
		}
		modules = append(modules, b.String())
	}
	return modules, paths
}

// If packages have nothing in common, those first by name have labels.
func TestLabelsWithoutCommonPackages(t *testing.T) {
	t.Parallel()
	var modules []string
	for i := range 60 {
		modules = append(modules, fmt.Sprintf("package p%02d\nallow := true", i))
	}
	l := newLabels(defaultConfig(), compile(t, modules...))
	checkLabels(t, l, map[string]string{"p00/allow": "p00/allow", "p49/allow": "p49/allow", "p50/allow": rollup.Other, "p59/allow": rollup.Other})
	if l.counts.own != 50 || l.counts.other != 10 {
		t.Errorf("%+v", l.counts)
	}
}

// What is logged names what has no label of its own, a few of them, and nothing
// else.
func TestPolicyPathsString(t *testing.T) {
	t.Parallel()
	text := func(room int, modules ...string) string {
		return newLabels(withMaxPaths(room), compile(t, modules...)).counts.String()
	}
	if got := text(2, "package p\na := 1\nb := 1"); got != "" {
		t.Errorf("if all have one: %q", got)
	}
	const advice = " Raise max_paths and max_series, annotate entry points, or name the important ones in paths."
	for room, want := range map[int]string{
		5: `Of 10 paths of the policy, 4 have a label of their own, 6 share that of a package, and 0 are "other": such as p/d, p/e, p/f, p/g, p/h.` + advice,
		2: `Of 10 paths of the policy, 1 have a label of their own, 9 share that of a package, and 0 are "other": such as p/a, p/b, p/c, p/d, p/e.` + advice,
		1: `Of 10 paths of the policy, 0 have a label of their own, 9 share that of a package, and 1 are "other": such as p/a, p/b, p/c, p/d, p/e.` + advice,
	} {
		if got := text(room, "package p\na := 1\nb := 1\nc := 1\nd := 1\ne := 1\nf := 1\ng := 1\nh := 1\ni := 1", "package z\na := 1"); got != want {
			t.Errorf("room for %d: %q, want %q", room, got, want)
		}
	}
}

// The deepest are merged first, and the package with the most of them.
func TestMergeDeepest(t *testing.T) {
	t.Parallel()
	modules := []string{
		"package a.b.c\nr1 := 1\nr2 := 2\nr3 := 3",
		"package a.b.d\nr1 := 1\nr2 := 2",
		"package x\nr1 := 1\nr2 := 2\nr3 := 3\nr4 := 4",
	}
	c := compile(t, modules...)
	for room, want := range map[int]map[string]string{
		9: {"a/b/c/r1": "a/b/c/r1", "a/b/d/r2": "a/b/d/r2", "x/r4": "x/r4"},
		8: {"a/b/c/r1": "a/b/c/r1", "a/b/c/r2": "a/b/c", "a/b/c/r3": "a/b/c", "a/b/d/r2": "a/b/d/r2", "x/r4": "x/r4"},
		7: {"a/b/c/r1": "a/b/c", "a/b/c/r3": "a/b/c", "a/b/d/r1": "a/b/d/r1", "a/b/d/r2": "a/b/d/r2", "x/r4": "x/r4"},
		6: {"a/b/c/r1": "a/b/c", "a/b/d/r1": "a/b/d", "a/b/d/r2": "a/b/d", "x/r4": "x/r4"},
		5: {"a/b/c/r1": "a/b", "a/b/d/r2": "a/b", "x/r4": "x/r4"},
		4: {"a/b/c/r1": "a/b", "a/b/d/r2": "a/b", "x/r2": "x/r2", "x/r3": "x", "x/r4": "x"},
		2: {"a/b/c/r1": "a/b", "x/r1": "x"},
		1: {"a/b/c/r1": "a/b", "x/r1": rollup.Other},
	} {
		t.Log(room)
		checkLabels(t, newLabels(withMaxPaths(room), c), want)
	}
}

// Which package comes first is by how many labels it saves: all that are
// merged, if it has a label anyhow, else one less. Of equally many, it is the
// first by name.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	const annotated = "# METADATA\n# entrypoint: true\n"
	for name, test := range map[string]struct {
		room    int
		modules []string
		want    map[string]string
	}{
		"equally many": {
			3, []string{"package a.c\nr1 := 1\nr2 := 1", "package a.b\nr1 := 1\nr2 := 1"},
			map[string]string{"a/b/r1": "a/b", "a/b/r2": "a/b", "a/c/r1": "a/c/r1", "a/c/r2": "a/c/r2"},
		},
		"a package that has its label": {
			5, []string{annotated + "package p\na := 1\nb := 1", "package q\nx := 1\ny := 1\nz := 1"},
			map[string]string{"p": "p", "p/a": "p/a", "p/b": "p", "q/x": "q/x", "q/z": "q/z"},
		},
		"one rule of it": {
			2, []string{annotated + "package p\na := 1", "package q\nx := 1"},
			map[string]string{"p": "p", "p/a": "p", "q/x": "q/x"},
		},
		"a rule with rules below": {
			4, []string{"package a.other\nx := 1\ny := 1", "package m\nmixed[k] := 1 if some k in input.keys\nmixed.a := 1\nmixed.b := 1"},
			map[string]string{"m/mixed": "m/mixed", "m/mixed/a": "m/mixed/a", "m/mixed/b": "m/mixed", "a/other/x": "a/other/x", "a/other/y": "a/other/y"},
		},
		"no room": {
			1, []string{annotated + "package p\na := 1", "package q\nx := 1"},
			map[string]string{"p": "p", "p/a": "p", "q/x": rollup.Other},
		},
	} {
		t.Log(name)
		checkLabels(t, newLabels(withMaxPaths(test.room), compile(t, test.modules...)), test.want)
	}
	config := withMaxPaths(1)
	config.Paths.Allow = []string{"not/there"}
	checkLabels(t, newLabels(config, compile(t, "package p\na := 1")), map[string]string{"p/a": rollup.Other, "not/there": "not/there"})
}

// Sixty packages below one: all but eleven keep their labels.
func TestMergeAsFewAsMustBe(t *testing.T) {
	t.Parallel()
	var modules []string
	for i := range 60 {
		modules = append(modules, fmt.Sprintf("package apps.p%02d\nallow := true", i))
	}
	l := newLabels(defaultConfig(), compile(t, modules...))
	checkLabels(t, l, map[string]string{"apps/p00/allow": "apps/p00/allow", "apps/p48/allow": "apps/p48/allow", "apps/p49/allow": "apps", "apps/p59/allow": "apps"})
	if l.counts.own != 49 || l.counts.merged != 11 {
		t.Errorf("%+v", l.counts)
	}
}
