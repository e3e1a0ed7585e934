// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package outcome tells how decisions of Open Policy Agent (OPA) ended, by their
// results and errors.
package outcome

import "strings"

// The paths of decisions without a path.
const (
	// Query stands for ad-hoc queries (POST /v1/query). They have no path,
	// because the client writes the query.
	Query = "(query)"
	// AllData stands for the whole document.
	AllData = "(data)"
)

// Outcome says how a decision ended.
type Outcome uint8

// The outcomes. [Verdict] says which results are Allowed, Denied and
// OtherResult.
const (
	Allowed Outcome = iota
	Denied
	OtherResult // a result that says neither yes nor no
	Undefined   // no result
	Error
	Cancelled // the client left, or its deadline passed, before the result

	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "denied", "result", "undefined", "error", "cancelled"}

// String returns "allowed", "denied", "result" (for [OtherResult]),
// "undefined", "error" or "cancelled". For an invalid Outcome it returns
// "result".
func (o Outcome) String() string { return outcomeNames[o.Valid()] }

// Valid returns o, or OtherResult if o is not one of the outcomes.
func (o Outcome) Valid() Outcome {
	if o >= outcomes {
		return OtherResult
	}
	return o
}

// OfQuery returns the outcome of an ad-hoc query, whose result is a list
// of bindings. An empty list and nil are Undefined. For other results,
// OfQuery returns their [OfResult].
func OfQuery(result any) Outcome {
	if result == nil {
		return Undefined
	}
	if bindings, ok := result.([]any); ok && len(bindings) == 0 {
		return Undefined
	}
	return OfResult(result)
}

// OfError returns the outcome of a decision whose error has this code of
// OPA. It is Undefined for the codes with which OPA's server and SDK report a
// missing result, or that the request asks for what no result can be: a field
// of a boolean, a function, an invalid path. Any client can cause these. It is
// Cancelled for a cancelled evaluation, and otherwise Error.
func OfError(code string) Outcome {
	switch code {
	case "undefined_document", "opa_undefined_error", "rego_type_error", "invalid_parameter":
		return Undefined
	case "eval_cancel_error", "cancelled": // the latter is WebAssembly's
		return Cancelled
	default:
		return Error
	}
}

// OfMessage returns the outcome of a decision whose error has this message
// and no code of OPA. It is Undefined for the message with which
// opa-envoy-plugin reports a missing result. It is Cancelled if the message
// ends like an error of Go's package context, and otherwise Error.
func OfMessage(message string) Outcome {
	switch {
	case message == "undefined decision":
		return Undefined
	case strings.HasSuffix(message, "context canceled"), strings.HasSuffix(message, "context deadline exceeded"):
		return Cancelled
	default:
		return Error
	}
}
