// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"testing"

	"github.com/regometer/regometer/outcome"
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
	check(t, "the text", outcome.Outcome.String, map[outcome.Outcome]string{
		outcome.Allowed: "allowed", outcome.Denied: "denied", outcome.OtherResult: "result",
		outcome.Undefined: "undefined", outcome.Error: "error", outcome.Cancelled: "cancelled", 6: "result", 77: "result",
	})
	check(t, "the outcome", outcome.OfError, map[string]outcome.Outcome{
		"undefined_document": outcome.Undefined, "opa_undefined_error": outcome.Undefined,
		"rego_type_error": outcome.Undefined, "invalid_parameter": outcome.Undefined, "rego_compile_error": outcome.Error,
		"eval_cancel_error": outcome.Cancelled, "cancelled": outcome.Cancelled,
		"eval_conflict_error": outcome.Error, "": outcome.Error,
	})
	check(t, "the outcome", outcome.OfMessage, map[string]outcome.Outcome{
		"undefined decision":    outcome.Undefined,
		"an undefined decision": outcome.Error,
		"context canceled":      outcome.Cancelled,
		"check request timed out before query execution: context deadline exceeded": outcome.Cancelled,
		"context deadline exceeded while waiting":                                   outcome.Error,
		"": outcome.Error,
	})
}
