// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package verdicts_test

import (
	"testing"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

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
	for _, test := range []struct {
		code, message string
		want          outcome.Outcome
	}{
		{"undefined_document", "", outcome.Undefined}, {"opa_undefined_error", "", outcome.Undefined},
		{"rego_type_error", "", outcome.Undefined}, {"invalid_parameter", "", outcome.Undefined}, {"rego_compile_error", "", outcome.Failed},
		{"eval_cancel_error", "", outcome.Cancelled}, {"cancelled", "", outcome.Cancelled},
		{"eval_conflict_error", "context canceled", outcome.Failed}, {"", "", outcome.Failed},
		{"", "undefined decision", outcome.Undefined}, {"", "an undefined decision", outcome.Failed},
		{"", "context canceled", outcome.Cancelled}, {"", "context deadline exceeded while waiting", outcome.Failed},
		{"", "check request timed out before query execution: context deadline exceeded", outcome.Cancelled},
	} {
		code := test.code
		if test.want != outcome.Failed {
			code = ""
		}
		if got, failure := verdicts.OfError(test.code, test.message); got != test.want || failure != code {
			t.Errorf("%q, %q: %v %q, want %v", test.code, test.message, got, failure, test.want)
		}
	}
}
