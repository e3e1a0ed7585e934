// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package verdicts_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// parsed returns a result of JSON. Its numbers are texts for Go.
func parsed(t *testing.T, text string) (result any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestResultOutcome(t *testing.T) {
	t.Parallel()
	for want, results := range map[outcome.Outcome][]string{
		outcome.Allowed: {
			`true`, `{"allow":true}`, `{"allowed":true,"headers":{}}`, `{"decision":true,"context":{"reason":"x"}}`, `{"response":{"allowed":true}}`,
			`{"deny":false}`, `{"deny":[]}`, `{"deny":{}}`, `{"deny":""}`, `{"violation":[]}`, `{"allow":true,"deny":[]}`, `{"allow":true,"deny":null}`,
		},
		outcome.Denied: {
			`false`, `{"allow":false}`, `{"allowed":false}`, `{"allow":true,"allowed":false}`, `{"decision":false}`,
			`{"kind":"AdmissionReview","response":{"uid":"","allowed":false}}`, `{"deny":true}`, `{"deny":["no"]}`, `{"deny":{"no":true}}`, `{"deny":"no"}`,
			`{"allow":true,"deny":["no"]}`, `{"allow":false,"deny":[]}`, `{"violation":[{"msg":"no"}],"deny":[]}`,
		},
		outcome.Neither: {
			`null`, `"yes"`, `1`, `[true]`, `{}`, `{"roles":["admin"]}`, `{"allow":"yes"}`, `{"allow":null}`, `{"deny":null}`, `{"deny":1}`,
			`{"decision":"Permit"}`, `{"response":["allowed"]}`,
		},
	} {
		for _, text := range results {
			result := parsed(t, text)
			if got := (*verdicts.Set)(nil).Of("").Outcome(result); got != want {
				t.Errorf("%s: the outcome is %v, want %v", text, got, want)
			}
			want := want
			if result == nil { // in which alone an ad-hoc query differs
				want = outcome.Undefined
			}
			if got := verdicts.OfQuery(result); got != want {
				t.Errorf("%s: the outcome of a query is %v, want %v", text, got, want)
			}
		}
	}
	if got := verdicts.OfQuery([]any{}); got != outcome.Undefined {
		t.Errorf("the outcome of a query without bindings is %v, want undefined", got)
	}
}

// A path that ends in deny or violation has the reasons as its result.
func TestDenyPaths(t *testing.T) {
	t.Parallel()
	for path, deny := range map[string]bool{
		"main/deny": true, "k8s/violation": true, "deny": true, "deny/x": false, "main/denyx": false, "main/not_deny": false, "": false,
	} {
		verdict := (*verdicts.Set)(nil).Of(path)
		for text, want := range map[string]map[bool]outcome.Outcome{
			`true`:           {true: outcome.Denied, false: outcome.Allowed},
			`[]`:             {true: outcome.Allowed, false: outcome.Neither},
			`["no"]`:         {true: outcome.Denied, false: outcome.Neither},
			`{"no":true}`:    {true: outcome.Denied, false: outcome.Neither},
			`{"allow":true}`: {true: outcome.Allowed, false: outcome.Allowed}, // a package of this name
			`null`:           {true: outcome.Neither, false: outcome.Neither},
		} {
			if got := verdict.Outcome(parsed(t, text)); got != want[deny] {
				t.Errorf("%s, %s: the outcome is %v, want %v", path, text, got, want[deny])
			}
		}
	}
}

func TestVerdictRules(t *testing.T) {
	t.Parallel()
	const allowed, denied, other = outcome.Allowed, outcome.Denied, outcome.Neither
	for rule, results := range map[string]map[string]outcome.Outcome{
		"result.granted":                {`{"granted":true,"allow":false}`: allowed, `{"granted":false}`: denied, `{"allow":true}`: other, `{"granted":["x"]}`: other, `true`: other},
		"result.a.b":                    {`{"a":{"b":true}}`: allowed},
		"result":                        {`false`: denied},
		"not result":                    {`true`: denied, `[]`: allowed},
		" not  result.reasons ":         {`{"reasons":["x"]}`: denied, `{"reasons":[]}`: allowed, `{"reasons":""}`: allowed, `{"reasons":5}`: other, `{}`: other},
		`result.effect=="allow"`:        {`{"effect":"allow"}`: allowed, `{"effect":"deny"}`: denied, `{"effect":true}`: other, `{"effect":[]}`: other},
		`result == "a == \"b\""`:        {`"a == \"b\""`: allowed},
		`not result.effect  == "deny" `: {`{"effect":"deny"}`: denied, `{"effect":"x"}`: allowed},
	} {
		verdicts, err := verdicts.New(map[string]string{"a/b": rule})
		if err != nil {
			t.Error(err)
			continue
		}
		for text, want := range results {
			if got := verdicts.Of("a/b").Outcome(parsed(t, text)); got != want {
				t.Errorf("%s of %s: the outcome is %v, want %v", rule, text, got, want)
			}
		}
	}
	for _, rule := range []string{
		"", "not", "result.", "results", "granted", "result..a", "result[0]", "!result.a", "result.a b",
		"result.a && result.b", "result.a ==", `result.a == ""`, "result.a == true", `result.a != "x"`, "not not result",
	} {
		if _, err := verdicts.New(map[string]string{"a/b": rule}); err == nil || !strings.HasPrefix(err.Error(), "a/b: invalid rule") {
			t.Errorf("%q: the error is %v, want one about the rule", rule, err)
		}
	}
	for _, path := range []string{"", "/a", "a//b", "a/"} {
		if _, err := verdicts.New(map[string]string{path: "result"}); err == nil {
			t.Errorf("the path %q is accepted", path)
		}
	}
}

// A path goes before patterns, and a later * before an earlier one.
func TestVerdictPaths(t *testing.T) {
	t.Parallel()
	verdicts, err := verdicts.New(map[string]string{
		"a/b": `result == "a/b"`, "a/*": `result == "a/*"`, "*/b": `result == "*/b"`, "*/c": `result == "*/c"`, "*/*/deny": `result == "*/*/deny"`,
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a/b": "a/b", "a/c": "a/*", "c/b": "*/b", "c/c": "*/c", "x/y/deny": "*/*/deny", "a": "", "c/d": "", "a/b/c": "", "x/deny": "", "": "",
	} {
		for _, rule := range []string{"a/b", "a/*", "*/b", "*/c", "*/*/deny"} {
			if got := verdicts.Of(path).Outcome(rule) == outcome.Allowed; got != (rule == want) {
				t.Errorf("path %q has the rule of %q: %v", path, rule, got)
			}
		}
	}
}

func TestHidden(t *testing.T) {
	t.Parallel()
	verdicts, err := verdicts.New(map[string]string{"own": "result.a/b.c"})
	if err != nil {
		t.Fatal(err)
	}
	for pointer, paths := range map[string]string{
		"/result": "usual deny own", "/result/allow": "usual deny", "/result/allowed": "usual deny", "/result/deny": "usual deny",
		"/result/response": "usual deny", "/result/response/allowed": "usual deny", "/result/a~1b": "own", "/result/a~1b/c": "own",
		"/result/a~1b/c/d": "", "/result/a": "", "/result/reason": "", "/result/allow/x": "", "/input": "", "/results": "", "": "",
	} {
		for _, path := range []string{"usual", "deny", "own"} {
			if got := verdicts.Of(path).IsHiddenBy(pointer); got != strings.Contains(paths, path) {
				t.Errorf("%q hides the outcome of %s: %v", pointer, path, got)
			}
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for o, want := range map[outcome.Outcome]string{
		outcome.Allowed: "allowed", outcome.Denied: "denied", outcome.Neither: "result",
		outcome.Undefined: "undefined", outcome.Failed: "error", outcome.Cancelled: "cancelled", 6: "result", 77: "result",
	} {
		if got := o.String(); got != want {
			t.Errorf("outcome %d is %q, want %q", o, got, want)
		}
	}
	for want, errors := range map[outcome.Outcome][][2]string{ // codes and messages
		outcome.Undefined: {{"undefined_document"}, {"opa_undefined_error"}, {"rego_type_error"}, {"invalid_parameter"}, {"", "undefined decision"}},
		outcome.Cancelled: {{"eval_cancel_error"}, {"cancelled"}, {"", "context canceled"}, {"", "check request timed out before query execution: context deadline exceeded"}},
		outcome.Failed: {
			{"rego_compile_error"}, {"eval_conflict_error", "context canceled"}, {"eval_conflict_error", "undefined decision"}, {},
			{"", "an undefined decision"}, {"", "context deadline exceeded while waiting"},
		},
	} {
		for _, e := range errors {
			wantCode := map[bool]string{true: e[0]}[want == outcome.Failed]
			if got, code := verdicts.OfError(e[0], e[1]); got != want || code != wantCode {
				t.Errorf("%q: %v %q, want %v", e, got, code, want)
			}
		}
	}
}
