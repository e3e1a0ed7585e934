// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"testing"

	"github.com/regometer/regometer/rollup"
)

func TestResultOutcome(t *testing.T) {
	t.Parallel()
	object := func(fields ...any) map[string]any {
		o := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			o[fields[i].(string)] = fields[i+1]
		}
		return o
	}
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
		{object(), rollup.OtherResult},
		{object("roles", []any{"admin"}), rollup.OtherResult},
		{object("allow", true), rollup.Allowed},
		{object("allow", false), rollup.Denied},
		{object("allow", "yes"), rollup.OtherResult},
		{object("allow", nil), rollup.OtherResult},
		{object("allowed", true, "headers", object()), rollup.Allowed},
		{object("allowed", false), rollup.Denied},
		{object("allow", true, "allowed", false), rollup.Denied},
		{object("deny", true), rollup.Denied},
		{object("deny", false), rollup.Allowed},
		{object("deny", []any{}), rollup.Allowed},
		{object("deny", []any{"no"}), rollup.Denied},
		{object("deny", object()), rollup.Allowed},
		{object("deny", object("no", true)), rollup.Denied},
		{object("deny", ""), rollup.Allowed},
		{object("deny", "no"), rollup.Denied},
		{object("deny", nil), rollup.OtherResult},
		{object("deny", 1.0), rollup.OtherResult},
		{object("allow", true, "deny", []any{"no"}), rollup.Denied},
		{object("allow", true, "deny", []any{}), rollup.Allowed},
		{object("allow", false, "deny", []any{}), rollup.Denied},
		{object("allow", true, "deny", nil), rollup.Allowed},
	} {
		if got := rollup.ResultOutcome(test.result); got != test.want {
			t.Errorf("%v: %v, want %v", test.result, got, test.want)
		}
	}
}

func TestOutcomeString(t *testing.T) {
	t.Parallel()
	for o, want := range map[rollup.Outcome]string{
		rollup.Allowed: "allowed", rollup.Denied: "denied", rollup.OtherResult: "result",
		rollup.Undefined: "undefined", rollup.Error: "error", rollup.Cancelled: "cancelled", 6: "result", 77: "result",
	} {
		if got := o.String(); got != want {
			t.Errorf("%d: %q, want %q", o, got, want)
		}
	}
}

func TestQueryOutcome(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		result any
		want   rollup.Outcome
	}{
		{nil, rollup.Undefined},
		{[]any{}, rollup.Undefined},
		{[]any{map[string]any{"x": true}}, rollup.OtherResult},
		{map[string]any{"deny": true}, rollup.Denied},
		{true, rollup.Allowed},
	} {
		if got := rollup.QueryOutcome(test.result); got != test.want {
			t.Errorf("%v: %v, want %v", test.result, got, test.want)
		}
	}
}

func TestErrorOutcome(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]rollup.Outcome{
		"undefined_document": rollup.Undefined, "opa_undefined_error": rollup.Undefined,
		"eval_cancel_error": rollup.Cancelled, "cancelled": rollup.Cancelled,
		"eval_conflict_error": rollup.Error, "": rollup.Error,
	} {
		if got := rollup.ErrorOutcome(code); got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
}

func TestMessageOutcome(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]rollup.Outcome{
		"undefined decision":    rollup.Undefined,
		"an undefined decision": rollup.Error,
		"context canceled":      rollup.Cancelled,
		"check request timed out before query execution: context deadline exceeded": rollup.Cancelled,
		"context deadline exceeded while waiting":                                   rollup.Error,
		"": rollup.Error,
	} {
		if got := rollup.MessageOutcome(message); got != want {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}

func TestHidesOutcome(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/result": true, "/result/allow": true, "/result/allowed": true, "/result/deny": true,
		"/result/reason": false, "/result/allow/x": false, "/input": false, "/results": false, "": false,
	} {
		if got := rollup.HidesOutcome(path); got != want {
			t.Errorf("%q: %t, want %t", path, got, want)
		}
	}
}
