// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

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
	all := paths{Enabled: true, FromPolicy: true}
	named := paths{
		Enabled: true, FromPolicy: true,
		Allow:    []string{"/users", "rbac/by_tenant/acme/allow", "with%20blank", "exact/path", "star/%2A"},
		Prefixes: []string{"tenants/*/authz", "tenants", "tenants/acme", "a/*/c", "a/b/*/d", "t/*/c", "t/b/*", "//odd%20one/007"},
	}
	got := strings.Join(newLabels(&settings{Paths: all, MaxPaths: 1000}, c).list(), ", ")
	if want := "(data), (query), deep, deep/er, deep/er/still, deep/er/still/allow, rbac, rbac/allow, rbac/by_tenant, rbac/mixed, rbac/mixed/deep, rbac/mixed/deep/er, rbac/number, rbac/number/7, " +
		"rbac/odd, rbac/odd/a%2Fb%25c, rbac/odd/ä ö, rbac/on_call, rbac/quota, rbac/quota/tenants, rbac/quota/tenants/acme, " +
		"rbac/quota/tenants/globex, rbac/quota/tenants/globex/limit, rbac/roles, rbac/testing, rbac/truth, system, system/main"; got != want {
		t.Errorf("the labels are\n%s, want\n%s", got, want)
	}
	const none = "-"
	allow := paths{Enabled: true, Allow: []string{"rbac/allow"}}
	for _, test := range []struct {
		config paths
		label  string
		query  string
		paths  []string
	}{
		{all, "rbac/allow", "", []string{"rbac/allow", "/rbac/allow", "//rbac//allow/", "////rbac////allow", "rb%61c/%61llow", "rbac/allow/user/0"}},
		{all, "rbac", "", []string{"rbac"}},
		{all, none, "", []string{
			"rbac/nothing", "rbac/%zz", "RBAC/allow", "rbac/quota/tenants/initech", "rbac/number/8",
			"rbac/number/99999999999999999999", "rbac/truth/true", "rbac/odd/a/b%25c", "rbac/is_admin", "rbac/test_allow",
			"rbac/test_cases", "deep/er/other", "empty", "users", "users\xff",
		}},
		{all, "rbac/on_call", "", []string{"rbac/on_call/alice"}},
		{all, "rbac/roles", "", []string{"rbac/roles/bob"}},
		{all, "rbac/quota", "", []string{"rbac/quota"}},
		{all, "rbac/quota/tenants", "", []string{"rbac/quota/tenants"}},
		{all, "rbac/quota/tenants/acme", "", []string{"rbac/quota/tenants/acme/x"}},
		{all, "rbac/quota/tenants/globex/limit", "", []string{"rbac/quota/tenants/globex/limit"}},
		{all, "rbac/by_tenant", "", []string{"rbac/by_tenant/acme/allow"}},
		{all, "rbac/number/7", "", []string{"rbac/number/7", "rbac/number/007", "rbac/number/%37/x"}},
		{all, "rbac/truth", "", []string{"rbac/truth"}},
		{all, "rbac/odd/a%2Fb%25c", "", []string{"rbac/odd/a%2Fb%25c"}},
		{all, "rbac/odd/ä ö", "", []string{"rbac/odd/%C3%A4%20%C3%B6"}},
		{all, "rbac/mixed/deep/er", "", []string{"rbac/mixed/deep/er/x"}},
		{all, "rbac/mixed/deep", "", []string{"rbac/mixed/deep"}},
		{all, "rbac/mixed", "", []string{"rbac/mixed/deep/x", "rbac/mixed/x"}},
		{all, "deep", "", []string{"deep"}},
		{all, "deep/er/still/allow", "", []string{"deep/er/still/allow"}},
		{all, "system/main", "", []string{"system/main"}},
		{all, rootPath, "", []string{"", "/"}},
		{all, outcome.Query, "data.x = 1", []string{"", "//"}},
		{all, "rbac/allow", "data.x = 1", []string{"rbac/allow"}},
		{all, none, "data.x = 1", []string{"nothing"}},
		{named, "rbac/allow", "", []string{"rbac/allow"}},
		{named, "users", "", []string{"users"}},
		{named, none, "", []string{"users/alice", "a/b", "exact", "star/x"}},
		{named, "rbac/by_tenant/acme/allow", "", []string{"rbac/by_tenant/acme/allow"}},
		{named, "rbac/by_tenant", "", []string{"rbac/by_tenant/globex/allow"}},
		{named, "with blank", "", []string{"with blank", "with%20blank"}},
		{named, "tenants", "", []string{"tenants", "tenants/globex"}},
		{named, "tenants/acme", "", []string{"tenants/acme/x/y"}},
		{named, "tenants/*/authz", "", []string{"tenants/acme/authz/x", "tenants/globex/authz"}},
		{named, "a/*/c", "", []string{"a/b/c"}},
		{named, "a/b/*/d", "", []string{"a/b/c/d"}},
		{named, "exact/path", "", []string{"exact/path"}},
		{named, "star/*", "", []string{"star/*"}},
		{named, "odd one/7", "", []string{"odd one/7/x"}},
		{named, "t/b/*", "", []string{"t/b/c"}},
		{named, "t/*/c", "", []string{"t/x/c"}},
		{allow, "rbac/allow", "", []string{"rbac/allow"}},
		{allow, none, "", []string{"rbac/roles"}},
		{paths{}, allPaths, "", []string{"rbac/allow"}},
		{paths{}, allPaths, "x", []string{""}},
	} {
		l := newLabels(&settings{Paths: test.config, MaxPaths: 1000}, c)
		for _, path := range test.paths {
			got, known := l.of(path, test.query)
			if test.label == none && (known || got.name != rollup.Other) || test.label != none && (!known || got.name != test.label || got.shared) {
				t.Errorf("path %q, query %q: the label is %q, shared: %t, want %q", path, test.query, got.name, got.shared, test.label)
			}
		}
	}
}

func TestLabelsWithoutPolicy(t *testing.T) {
	t.Parallel()
	partly := compile(t, labelPolicy...)
	partly.Graph = nil
	if label, known := newLabels(defaultConfig(), partly).of("rbac/allow", ""); !known || label.name != "rbac/allow" {
		t.Errorf("without a graph the label is %q, want rbac/allow", label.name)
	}
	off := newLabels(&settings{Paths: paths{FromPolicy: true, Allow: []string{"a"}}, MaxPaths: 1}, compile(t, labelPolicy...))
	if got := off.list(); len(got) != 1 || got[0] != allPaths || off.counts.String() != "" || off.counts != nil {
		t.Errorf("without path labels there are %q, %+v, want all", got, off.counts)
	}
	for _, c := range []*ast.Compiler{nil, ast.NewCompiler(), compile(t, "package empty")} {
		if label, known := newLabels(defaultConfig(), c).of("a", ""); known {
			t.Errorf("without rules the label is %q, want other", label.name)
		}
	}
}
