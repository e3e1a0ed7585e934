// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"testing"

	"github.com/regometer/regometer/rollup"
)

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
		"rego_type_error": rollup.Undefined, "invalid_parameter": rollup.Undefined, "rego_compile_error": rollup.Error,
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
}
