// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"testing"

	"github.com/regometer/regometer/rollup"
)

type object = map[string]any

func TestResultOutcome(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		result any
		want   rollup.Outcome
	}{
		{true, rollup.Allowed},
		{false, rollup.Denied},
		{nil, rollup.OtherResult},
		{"yes", rollup.OtherResult},
		{1.0, rollup.OtherResult},
		{[]any{true}, rollup.OtherResult},
		{object{}, rollup.OtherResult},
		{object{"roles": []any{"admin"}}, rollup.OtherResult},
		{object{"allow": true}, rollup.Allowed},
		{object{"allow": false}, rollup.Denied},
		{object{"allow": "yes"}, rollup.OtherResult},
		{object{"allow": nil}, rollup.OtherResult},
		{object{"allowed": true, "headers": object{}}, rollup.Allowed},
		{object{"allowed": false}, rollup.Denied},
		{object{"allow": true, "allowed": false}, rollup.Denied},
		{object{"deny": true}, rollup.Denied},
		{object{"deny": false}, rollup.Allowed},
		{object{"deny": []any{}}, rollup.Allowed},
		{object{"deny": []any{"no"}}, rollup.Denied},
		{object{"deny": object{}}, rollup.Allowed},
		{object{"deny": object{"no": true}}, rollup.Denied},
		{object{"deny": ""}, rollup.Allowed},
		{object{"deny": "no"}, rollup.Denied},
		{object{"deny": nil}, rollup.OtherResult},
		{object{"deny": 1.0}, rollup.OtherResult},
		{object{"allow": true, "deny": []any{"no"}}, rollup.Denied},
		{object{"allow": true, "deny": []any{}}, rollup.Allowed},
		{object{"allow": false, "deny": []any{}}, rollup.Denied},
		{object{"allow": true, "deny": nil}, rollup.Allowed},
	} {
		if got := rollup.ResultOutcome(test.result); got != test.want {
			t.Errorf("%v: the outcome is %v, want %v", test.result, got, test.want)
		}
		// An ad-hoc query differs only if it has no result.
		want := test.want
		if test.result == nil {
			want = rollup.Undefined
		}
		if got := rollup.QueryOutcome(test.result); got != want {
			t.Errorf("%v: the outcome of a query is %v, want %v", test.result, got, want)
		}
	}
	if got := rollup.QueryOutcome([]any{}); got != rollup.Undefined {
		t.Errorf("the outcome of a query without bindings is %v, want undefined", got)
	}
}

// check compares the results of a function.
func check[K, V comparable](t *testing.T, name string, f func(K) V, want map[K]V) {
	t.Helper()
	for k, v := range want {
		if got := f(k); got != v {
			t.Errorf("%s of %v is %v, want %v", name, k, got, v)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	check(t, "the text", rollup.Outcome.String, map[rollup.Outcome]string{
		rollup.Allowed: "allowed", rollup.Denied: "denied", rollup.OtherResult: "result",
		rollup.Undefined: "undefined", rollup.Error: "error", rollup.Cancelled: "cancelled", 6: "result", 77: "result",
	})
	check(t, "the text", rollup.Cause.String, map[rollup.Cause]string{
		rollup.CauseUnknown: "unknown", rollup.CauseQuery: "query", rollup.CauseFailed: "failed", 3: "failed", 255: "failed",
	})
	check(t, "the outcome", rollup.ErrorOutcome, map[string]rollup.Outcome{
		"undefined_document": rollup.Undefined, "opa_undefined_error": rollup.Undefined,
		"eval_cancel_error": rollup.Cancelled, "cancelled": rollup.Cancelled,
		"eval_conflict_error": rollup.Error, "": rollup.Error,
	})
	check(t, "the outcome", rollup.MessageOutcome, map[string]rollup.Outcome{
		"undefined decision":    rollup.Undefined,
		"an undefined decision": rollup.Error,
		"context canceled":      rollup.Cancelled,
		"check request timed out before query execution: context deadline exceeded": rollup.Cancelled,
		"context deadline exceeded while waiting":                                   rollup.Error,
		"": rollup.Error,
	})
	check(t, "hiding", rollup.HidesOutcome, map[string]bool{
		"/result": true, "/result/allow": true, "/result/allowed": true, "/result/deny": true,
		"/result/reason": false, "/result/allow/x": false, "/input": false, "/results": false, "": false,
	})
}
