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

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

func withMaxPaths(n int) *settings {
	c := defaultConfig()
	c.MaxPaths = n
	return c
}

// list returns all given labels, in order.
func (l *labels) list() []string { return slices.Sorted(maps.Keys(l.given)) }

// modulesOf returns n modules, from a format with the module's number.
func modulesOf(n int, format string) (modules []string) {
	for i := range n {
		modules = append(modules, fmt.Sprintf(format, i))
	}
	return modules
}

// entry annotates an entry point.
const entry = "# METADATA\n# entrypoint: true\n"

// TestTiers has policies with more paths than there is room for.
func TestTiers(t *testing.T) {
	t.Parallel()
	tiers := []string{`package a
allow if b_helper
b_helper if c_helper
c_helper := true
f(x) := x
test_allow if allow
decide if not deny
deny if f(input.x)`, `package z
main if data.a.b_helper
test_main if main with input as 1
todo_test_main if main`}
	deep := []string{
		"package a.b.c\nr1 := input.x\nr2 := input.x\nr3 := input.x",
		"package a.b.d\nr1 := input.x\nr2 := input.x",
		"package x\nr1 := input.x\nr2 := input.x\nr3 := input.x\nr4 := input.x",
	}
	ten := []string{"package p\na := input.x\nb := input.x\nc := input.x\nd := input.x\ne := input.x\nf := input.x\ng := input.x\nh := input.x\ni := input.x", "package z\na := input.x"}
	const advice = " Raise max_paths and max_series, annotate entry points, or name the important paths in paths.allow."
	const other = rollup.Other
	type m = map[string]string
	for _, test := range []struct {
		name    string
		room    int
		named   paths
		modules []string
		want    m      // labels by path
		message string // the logged message, or its beginning; "" if all paths have a label
	}{
		{"all have room", 50, paths{}, modulesOf(50, "package p%d\nallow := true"), m{"p7/allow": "p7/allow", "p49/allow": "p49/allow", "p7": other}, ""},
		{
			"nothing in common", 3, paths{}, modulesOf(30, "package p%02d\nallow := true"),
			m{"p00/allow": "p00/allow", "p02/allow": "p02/allow", "p03/allow": other, "p29/allow": other},
			`The policy has 30 paths, but only 3 have a label of their own. 0 share the label of a package, and 27 are "other". Examples: p03/allow, p04/allow, `,
		},
		{
			"as few as possible are merged", 50, paths{}, modulesOf(60, "package apps.p%02d\nallow := true"),
			m{"apps/p00/allow": "apps/p00/allow", "apps/p48/allow": "apps/p48/allow", "apps/p49/allow": "apps", "apps/p59/allow": "apps"},
			`The policy has 60 paths, but only 49 have a label of their own. 11 share the label of a package, and 0 are "other". `,
		},
		{
			"no functions, no tests", 8, paths{}, tiers,
			m{"a/b_helper": "a/b_helper", "a/c_helper": "a/c_helper", "a/deny": "a/deny", "a/f": other, "a/test_allow": other, "z/todo_test_main": other}, "",
		},
		{"two of three", 2, paths{}, tiers, m{"a/allow": "a", "a/decide": "a", "z/main": "z/main"}, "The policy has 6 paths"},
		{
			"an annotated package", 5, paths{},
			[]string{"# METADATA\n# scope: package\n# entrypoint: true\npackage whole\na := input.x\nb := input.x\n# entrypoint: true\nc := input.x\n" + entry + "\nd := input.x", "package x\na := input.x\nb := input.x\nc := input.x\nd := input.x\ne := input.x\nf := input.x"},
			m{"whole": "whole", "whole/a": "whole/a", "whole/c": "whole", "whole/d": "whole/d"}, "The policy has 10 paths",
		},
		{
			"the configuration's paths come first", 4, paths{Allow: []string{"p/c", "not/there"}, Prefixes: []string{"tenants/*"}},
			[]string{"package p\na := input.x\nb := input.x\nc := input.x", "package tenants.acme\nx := input.x", "package tenants.globex\nx := input.x\ny := input.x"},
			m{
				"p/c": "p/c", "not/there": "not/there", "tenants/acme/x": "tenants/*", "tenants/new": "tenants/*",
				"p/a": "p", "p/b": "p", "p": "p",
			},
			`The policy has 6 paths, but only 4 have a label of their own. 2 share the label of a package, and 0 are "other". Examples: p/a, p/b.` + advice,
		},
		{"the configuration's paths take all room", 1, paths{Allow: []string{"not/there"}}, []string{"package p\na := input.x"}, m{"p/a": other, "not/there": "not/there"}, "The policy has 1 paths"},
		{"deep, 8", 8, paths{}, deep, m{"a/b/c/r1": "a/b/c/r1", "a/b/c/r2": "a/b/c", "a/b/c/r3": "a/b/c", "a/b/d/r2": "a/b/d/r2", "x/r4": "x/r4"}, "The policy has 9 paths"},
		{"deep, 5", 5, paths{}, deep, m{"a/b/c/r1": "a/b", "a/b/d/r2": "a/b", "x/r4": "x/r4"}, "The policy has 9 paths"},
		{"deep, 4", 4, paths{}, deep, m{"a/b/c/r1": "a/b", "a/b/d/r2": "a/b", "x/r2": "x/r2", "x/r3": "x", "x/r4": "x"}, "The policy has 9 paths"},
		{"deep, 1", 1, paths{}, deep, m{"a/b/c/r1": "a/b", "x/r1": other}, "The policy has 9 paths"},
		{
			"equally many members: the first package by name", 3, paths{}, []string{"package a.c\nr1 := input.x\nr2 := input.x", "package a.b\nr1 := input.x\nr2 := input.x"},
			m{"a/b/r1": "a/b", "a/b/r2": "a/b", "a/c/r1": "a/c/r1", "a/c/r2": "a/c/r2"}, "The policy has 4 paths",
		},
		{
			"merging into a package with a label saves more", 5, paths{}, []string{entry + "package p\na := input.x\nb := input.x", "package q\nx := input.x\ny := input.x\nz := input.x"},
			m{"p": "p", "p/a": "p/a", "p/b": "p", "q/x": "q/x", "q/z": "q/z"}, "The policy has 5 paths",
		},
		{"no room", 1, paths{}, []string{entry + "package p\na := input.x", "package q\nx := input.x"}, m{"p": "p", "p/a": "p", "q/x": other}, "The policy has 2 paths"},
		{
			"a rule with rules below it", 4, paths{}, []string{"package a.other\nx := input.x\ny := input.x", "package m\nmixed[k] := input.x if some k in input.keys\nmixed.a := input.x\nmixed.b := input.x"},
			m{"m/mixed": "m/mixed", "m/mixed/a": "m/mixed/a", "m/mixed/b": "m/mixed", "a/other/x": "a/other/x", "a/other/y": "a/other/y"}, "The policy has 5 paths",
		},
		{
			"the message counts other paths", 1, paths{}, ten, m{"p/a": "p", "z/a": other},
			`The policy has 10 paths, but only 0 have a label of their own. 9 share the label of a package, and 1 are "other". Examples: p/a, p/b, p/c, p/d, p/e, p/f, p/g, p/h, p/i, z/a.` + advice,
		},
	} {
		config := withMaxPaths(test.room)
		config.Paths.Allow, config.Paths.Prefixes = test.named.Allow, test.named.Prefixes
		l := newLabels(config, compile(t, test.modules...))
		for path, want := range test.want {
			if got, _ := l.of(path, ""); got.name != want {
				t.Errorf("%s: %s has the label %q, want %q", test.name, path, got.name, want)
			}
		}
		if n := len(l.given) - unnamed; n > test.room {
			t.Errorf("%s: there are %d labels, want %d or fewer", test.name, n, test.room)
		}
		if got := l.counts.String(); !strings.HasPrefix(got, test.message) || test.message == "" && got != "" {
			t.Errorf("%s: the message is %q, want %q", test.name, got, test.message)
		}
	}
}

// TestTierOrder has a document of each kind, in the order in which they get
// labels. With room for n labels, the first n have their own.
func TestTierOrder(t *testing.T) {
	t.Parallel()
	policy := "package a\n" + entry + `chosen := helper
main if condition
default count_all := 0
count_all := count(sorted)
sorted contains x if some x in input.xs
condition if helper
verdict if condition
answer := {"allow": a} if a := input.a
answer := {"reason": r} if r := input.r
maybe if input.a
else := "no"
names contains helper
helper := input.helper
constant := {"main": true}
constants contains 1
test_names if names`
	order := []string{"a/chosen", "a/count_all", "a/main", "a/answer", "a/maybe", "a/verdict", "a/names", "a", "a/condition", "a/helper", "a/sorted", "a/constant", "a/constants"}
	for _, room := range []int{1, 3, 6, 7, 8, 9, 11, 13} { // the sizes of the groups, added up
		l := newLabels(withMaxPaths(room), compile(t, policy))
		want := append([]string{rootPath, outcome.Query}, slices.Sorted(slices.Values(order[:room]))...)
		if got := l.list(); !slices.Equal(got, want) {
			t.Errorf("with room for %d, the labels are %q, want %q", room, got, want)
		}
	}
}

// TestCommentedEntryPoints checks that a server that keeps annotations as
// comments finds the entry points that others find in the annotations.
func TestCommentedEntryPoints(t *testing.T) {
	t.Parallel()
	// check returns the number of entry points, or -1 if OPA refuses the
	// annotations.
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
			t.Errorf("the entry points by comments are %v, by annotations %v:\n%s", comments, want, text)
		}
		if got := entryPointsOf(c); !maps.Equal(got, want) {
			t.Errorf("the entry points are %v, want %v:\n%s", got, want, text)
		}
		return len(want)
	}
	check("package p # METADATA\n# entrypoint: true\nd := 4") // OPA's releases differ in its number
	for text, want := range map[string]int{
		entry + "package p\nimport rego.v1\n" + entry + "a.b[x] := 1 if some x in [2]": 2,
		// The form that OPA's documentation uses:
		"package p\n# METADATA\n# scope: document\n# entrypoint: true\n\n# METADATA\n# title: One\nd if input.x == 1\n\n# METADATA\n# title: Two\nd if input.x == 2": 1,
		"package p\n# METADATA\n# \"entrypoint\": true\nd := 4":                                           1,
		"package p\nc := 1\n# METADATA\n# title: T\n# entrypoint: yes\ndefault d := 4\nd := 5 if input.x": 1,
		"package p\n#METADATA\n#entrypoint: true\nd.e[k] := v if some k, v in input":                      1,
		"package p\n" + entry + "#\n\n# other\nd := 4\ne := 5":                                            1,
		// OPA refuses these, or there is nothing to annotate.
		"package p\nd := 4\n" + entry:                                      -1,
		"package p\n# METADATA\n# entrypoint: true\n# scope: rule\nd := 4": -1,
		"package p\n# METADATA\n# entrypoint: [\nd := 4":                   -1,
	} {
		if n := check(text); n != want {
			t.Errorf("%q: there are %d entry points, want %d", text, n, want)
		}
		if got := map[string]bool{}; want < 0 {
			if commentedEntryPoints(ast.MustParseModule(text), got); len(got) > 0 {
				t.Errorf("%q: the entry points are %v, want none", text, got)
			}
		}
	}
}

func compile(t testing.TB, modules ...string) *ast.Compiler {
	t.Helper()
	parsed := map[string]*ast.Module{}
	for i, text := range modules {
		name := fmt.Sprint("m", i)
		m, err := ast.ParseModule(name, text)
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

// TestLabelsFollowFromPolicy makes random policies. Two servers give each
// decision the same label, in whatever order the modules come. They use all the
// room, and a rule loses its own label only if less important ones have none.
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
		// All the room is used, and no more.
		n, shared := len(first.given)-unnamed, first.counts.merged+first.counts.other
		if n > config.MaxPaths || shared > 0 && n < config.MaxPaths {
			t.Fatalf("seed %d: %d labels, want %d, because %d paths share a label", seed, n, config.MaxPaths, shared)
		}
		// A rule has its own label only if more important ones have theirs.
		least, most := tiers, -1 // tiers of rules without and with their own
		first.policy.forEach(func(d *document) {
			switch {
			case len(d.rules) == 0 || first.named.find(d.path) != "":
			case d.label == d.path:
				most = max(most, d.tier)
			default:
				least = min(least, d.tier)
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
			if one.name != rollup.Other && !first.given[one.name] {
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
		// If there is room, each path has its own label.
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
		var rules []string
		for i := range 1 + random.IntN(8) {
			rule := fmt.Sprintf("r%d", i)
			if i < len(usualNames) && random.IntN(6) == 0 {
				rule = usualNames[i]
			}
			switch random.IntN(6) {
			case 0:
				b.WriteString("# METADATA\n# entrypoint: true\n")
			case 1:
				fmt.Fprintf(&b, "test_%s if %s\n", rule, rule)
			}
			switch rules = append(rules, rule); random.IntN(6) {
			case 0, 1, 2:
				if used := rules[random.IntN(i+1)]; used != rule {
					fmt.Fprintf(&b, "%s := %s\n", rule, used)
					break
				}
				fallthrough
			case 3:
				fmt.Fprintf(&b, "%s := %d\n", rule, i)
			case 4:
				fmt.Fprintf(&b, "%s if input.x == %d\n", rule, i)
			case 5:
				fmt.Fprintf(&b, "%s := input.x\n", rule)
			}
			paths = append(paths, strings.Join(pkg, "/")+"/"+rule)
		}
		modules = append(modules, b.String())
	}
	return modules, paths
}
