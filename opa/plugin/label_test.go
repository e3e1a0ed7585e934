// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/rollup"
)

func compile(t testing.TB, modules ...string) *ast.Compiler {
	t.Helper()
	return compileWith(t, ast.ParserOptions{}, modules...)
}

var labelPolicy = []string{
	`package rbac
default allow := false
allow if input.user == "alice"
on_call contains input.user if input.on_call
roles[user] := "admin" if some user in input.users
quota.tenants.acme := 1
quota.tenants.globex.limit := 2
by_tenant[t].allow if some t in input.tenants
number[7] := "seven"
number["8"] := "text"
truth[true] := 1
odd["a/b%c"] := 1
odd["ä ö"] := 2
mixed[k] := 1 if some k in input.keys
mixed.deep.er := 2
testing := 1
is_admin(user) := user == "root"
test_allow if allow with input.user as "alice"
test_cases[x] := 1 if some x in [1, 2]`,
	`package deep.er.still
allow := true`,
	`package system
main := true`,
	`package empty`,
}

func TestLabels(t *testing.T) {
	t.Parallel()
	c := compile(t, labelPolicy...)
	all := Paths{Enabled: true, FromPolicy: true}
	named := Paths{
		Enabled: true, FromPolicy: true,
		Allow:    []string{"/users", "rbac/by_tenant/acme/allow", "with%20blank", "exact/path", "star/%2A"},
		Prefixes: []string{"tenants/*/authz", "tenants", "tenants/acme", "a/*/c", "a/b/*/d", "t/*/c", "t/b/*", "//odd%20one/007"},
	}
	got := strings.Join(newLabels(&Config{Paths: all, MaxPaths: 1000}, c).list(), ", ")
	if want := "(data), (query), deep, deep/er, deep/er/still, deep/er/still/allow, rbac, rbac/allow, rbac/by_tenant, rbac/mixed, rbac/mixed/deep, rbac/mixed/deep/er, rbac/number, rbac/number/7, " +
		"rbac/odd, rbac/odd/a%2Fb%25c, rbac/odd/ä ö, rbac/on_call, rbac/quota, rbac/quota/tenants, rbac/quota/tenants/acme, " +
		"rbac/quota/tenants/globex, rbac/quota/tenants/globex/limit, rbac/roles, rbac/testing, rbac/truth, system, system/main"; got != want {
		t.Errorf("labels\n%s, want\n%s", got, want)
	}
	const none = "-"
	for _, test := range []struct {
		paths             Paths
		path, query, want string
	}{
		{all, "rbac/allow", "", "rbac/allow"},
		{all, "/rbac/allow", "", "rbac/allow"},
		{all, "//rbac//allow/", "", "rbac/allow"},
		{all, "////rbac////allow", "", "rbac/allow"},
		{all, "rb%61c/%61llow", "", "rbac/allow"},
		{all, "rbac/allow/user/0", "", "rbac/allow"},
		{all, "rbac", "", "rbac"},
		{all, "rbac/nothing", "", none},
		{all, "rbac/%zz", "", none},
		{all, "RBAC/allow", "", none},
		{all, "rbac/on_call/alice", "", "rbac/on_call"},
		{all, "rbac/roles/bob", "", "rbac/roles"},
		{all, "rbac/quota", "", "rbac/quota"},
		{all, "rbac/quota/tenants", "", "rbac/quota/tenants"},
		{all, "rbac/quota/tenants/acme/x", "", "rbac/quota/tenants/acme"},
		{all, "rbac/quota/tenants/initech", "", none},
		{all, "rbac/quota/tenants/globex/limit", "", "rbac/quota/tenants/globex/limit"},
		{all, "rbac/by_tenant/acme/allow", "", "rbac/by_tenant"},
		{all, "rbac/number/7", "", "rbac/number/7"},
		{all, "rbac/number/007", "", "rbac/number/7"},
		{all, "rbac/number/%37/x", "", "rbac/number/7"},
		{all, "rbac/number/8", "", none},
		{all, "rbac/number/99999999999999999999", "", none},
		{all, "rbac/truth", "", "rbac/truth"},
		{all, "rbac/truth/true", "", none},
		{all, "rbac/odd/a%2Fb%25c", "", "rbac/odd/a%2Fb%25c"},
		{all, "rbac/odd/a/b%25c", "", none},
		{all, "rbac/odd/%C3%A4%20%C3%B6", "", "rbac/odd/ä ö"},
		{all, "rbac/is_admin", "", none},
		{all, "rbac/test_allow", "", none},
		{all, "rbac/test_cases", "", none},
		{all, "rbac/mixed/deep/er/x", "", "rbac/mixed/deep/er"},
		{all, "rbac/mixed/deep", "", "rbac/mixed/deep"},
		{all, "rbac/mixed/deep/x", "", "rbac/mixed"},
		{all, "rbac/mixed/x", "", "rbac/mixed"},
		{all, "deep", "", "deep"},
		{all, "deep/er/still/allow", "", "deep/er/still/allow"},
		{all, "deep/er/other", "", none},
		{all, "system/main", "", "system/main"},
		{all, "empty", "", none},
		{all, "users", "", none},
		{all, "users\xff", "", none},
		{all, "", "", rootPath},
		{all, "/", "", rootPath},
		{all, "", "data.x = 1", rollup.Query},
		{all, "rbac/allow", "data.x = 1", "rbac/allow"}, // of the Compile API
		{all, "nothing", "data.x = 1", none},
		{all, "//", "data.x = 1", rollup.Query},

		{named, "rbac/allow", "", "rbac/allow"},
		{named, "users", "", "users"},
		{named, "users/alice", "", none},
		{named, "rbac/by_tenant/acme/allow", "", "rbac/by_tenant/acme/allow"},
		{named, "rbac/by_tenant/globex/allow", "", "rbac/by_tenant"},
		{named, "with blank", "", "with blank"},
		{named, "with%20blank", "", "with blank"},
		{named, "tenants", "", "tenants"},
		{named, "tenants/globex", "", "tenants"},
		{named, "tenants/acme/x/y", "", "tenants/acme"},
		{named, "tenants/acme/authz/x", "", "tenants/*/authz"},
		{named, "tenants/globex/authz", "", "tenants/*/authz"},
		{named, "a/b", "", none},
		{named, "a/b/c", "", "a/*/c"},
		{named, "a/b/c/d", "", "a/b/*/d"},
		{named, "exact/path", "", "exact/path"},
		{named, "exact", "", none},
		{named, "star/*", "", "star/*"},
		{named, "star/x", "", none},
		{named, "odd one/7/x", "", "odd one/7"},
		{named, "t/b/c", "", "t/b/*"},
		{named, "t/x/c", "", "t/*/c"},

		{Paths{Enabled: true, Allow: []string{"rbac/allow"}}, "rbac/allow", "", "rbac/allow"},
		{Paths{Enabled: true, Allow: []string{"rbac/allow"}}, "rbac/roles", "", none},
		{Paths{}, "rbac/allow", "", allPaths},
		{Paths{}, "", "x", allPaths},
	} {
		got, known := newLabels(&Config{Paths: test.paths, MaxPaths: 1000}, c).of(test.path, test.query)
		if test.want == none {
			if known || got.name != rollup.Other {
				t.Errorf("path %q, query %q: %q, want none", test.path, test.query, got.name)
			}
		} else if !known || got.name != test.want || got.shared {
			t.Errorf("path %q, query %q: %q, shared: %t, want %q", test.path, test.query, got.name, got.shared, test.want)
		}
	}
}

func TestLabelsWithoutPolicy(t *testing.T) {
	t.Parallel()
	partly := compile(t, labelPolicy...)
	partly.Graph = nil
	if label, known := newLabels(defaultConfig(), partly).of("rbac/allow", ""); !known || label.name != "rbac/allow" {
		t.Errorf("without a graph: label %q", label.name)
	}
	off := newLabels(&Config{Paths: Paths{FromPolicy: true, Allow: []string{"a"}}, MaxPaths: 1}, compile(t, labelPolicy...))
	if got := off.list(); len(got) != 1 || got[0] != allPaths || off.counts.String() != "" || off.counts.own != 0 {
		t.Errorf("with paths off: %q, %+v", got, off.counts)
	}
	for _, c := range []*ast.Compiler{nil, ast.NewCompiler(), compile(t, "package empty")} {
		if label, known := newLabels(defaultConfig(), c).of("a", ""); known {
			t.Errorf("label %q", label.name)
		}
	}
}

// Numbers are those of OPA's server.
func TestSegmentInteger(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	segments := []string{
		"", "+", "-", "0", "-0", "9", "+9", "-9", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"00000000000000000000000007", "7_0", "0x7", "7.0", "７",
	}
	for range 5000 {
		b := make([]byte, random.IntN(21))
		for i := range b {
			b[i] = "0123456789+-:a/ 01989898"[random.IntN(24)]
		}
		segments = append(segments, string(b))
	}
	for _, s := range segments {
		want, err := strconv.ParseInt(s, 10, 64)
		if n, ok := integer(s); ok != (err == nil) || ok && n != want {
			t.Errorf("%q: %d, %t, want %d, %v", s, n, ok, want, err)
		}
	}
}

// The longest path that gets a label has series of its own; a longer one makes
// no others go.
func TestLongLabels(t *testing.T) {
	t.Parallel()
	config := withMaxPaths(4)
	config.Paths.Allow = []string{strings.Repeat("x", longestLabel)}
	rule := strings.Repeat("y", longestLabel-len("p/"))
	r := newRecorder(t, nil, config, compile(t, "package p\n"+rule+" := 1\n"+rule+"y := 1\na := 1"))
	for _, path := range []string{config.Paths.Allow[0], "p/" + rule} {
		if l, _ := r.labels.of(path, ""); l.name != path {
			t.Errorf("a path of %d bytes has the label %.20q", len(path), l.name)
		}
		r.record(&decision{path: path}, nil, nil)
	}
	r.record(&decision{path: "p/" + rule + "y"}, nil, nil)
	if want := strings.Join([]string{rollup.Other, "p/" + rule, config.Paths.Allow[0]}, " "); pathsOf(t, r) != want {
		t.Errorf("series of %.80q", pathsOf(t, r))
	}
	if r.labels.counts.own != 2 {
		t.Errorf("%+v", r.labels.counts)
	}
}

func TestLabelsAllocateNothing(t *testing.T) {
	l := newLabels(&Config{Paths: Paths{Enabled: true, FromPolicy: true, Prefixes: []string{"tenants/*/x"}}, MaxPaths: 50}, compile(t, labelPolicy...))
	for _, path := range []string{"rbac/allow", "/deep/er/still/allow/x", "tenants/acme/x", "no/such/path/99", "", "rbac/number/7"} {
		if n := testing.AllocsPerRun(100, func() { l.of(path, "") }); n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}

func BenchmarkLabel(b *testing.B) {
	l := newLabels(defaultConfig(), compile(b, labelPolicy...))
	for _, path := range []string{"rbac/allow", "deep/er/still/allow", "no/such/path"} {
		b.Run("path="+path, func(b *testing.B) {
			for b.Loop() {
				l.of(path, "")
			}
		})
	}
}
