// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"slices"
	"strings"

	"github.com/regometer/regometer/outcome"
)

// OfQuery returns the outcome of an ad-hoc query, whose result is a list of
// bindings. An empty list and nil are Undefined. Other results have the outcome
// by the usual [Verdict].
func OfQuery(result any) outcome.Outcome {
	if bindings, ok := result.([]any); result == nil || ok && len(bindings) == 0 {
		return outcome.Undefined
	}
	return usualVerdict.Outcome(result)
}

// OfError returns the outcome of a decision whose error has this code of OPA
// and this message, and the code if the outcome is Failed. It is Undefined for
// the codes with which OPA's server and SDK report a missing result, or that the
// request asks for what no result can be: a field of a boolean, a function, an
// invalid path. Any client can cause these. It is Cancelled for a cancelled
// evaluation, and otherwise Failed.
//
// Without a code, it is Undefined for the message with which opa-envoy-plugin
// reports a missing result. It is Cancelled if the message ends like an error of
// Go's package context, and otherwise Failed.
func OfError(code, message string) (_ outcome.Outcome, failure string) {
	isEnvoys := code == "" && message == "undefined decision"
	hasLeft := code == "" && (strings.HasSuffix(message, "context canceled") || strings.HasSuffix(message, "context deadline exceeded"))
	switch {
	case isEnvoys, slices.Contains(undefinedCodes, code):
		return outcome.Undefined, ""
	case hasLeft, code == "eval_cancel_error", code == "cancelled": // the last one is WebAssembly's
		return outcome.Cancelled, ""
	}
	return outcome.Failed, code
}

var undefinedCodes = []string{"undefined_document", "opa_undefined_error", "rego_type_error", "invalid_parameter"}
