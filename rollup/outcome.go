// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "strings"

// Outcome says how a decision ended.
type Outcome uint8

// The outcomes. [ResultOutcome] says which results are Allowed, Denied and
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
func (o Outcome) String() string { return outcomeNames[o.valid()] }

// valid returns o, or OtherResult if o is not one of the outcomes.
func (o Outcome) valid() Outcome {
	if o >= outcomes {
		return OtherResult
	}
	return o
}

// ResultOutcome returns the outcome of a decision with this result and without
// an error.
//
// A boolean is Allowed or Denied. In an object, these fields decide:
//
//   - "allow" and, as in answers to Envoy and Kubernetes, "allowed", if they
//     are booleans.
//   - "deny", which can be a boolean. It can also be a list, a set, an object
//     or a string with reasons, which deny if it is not empty.
//
// The object is Denied if one of the fields denies. Otherwise it is Allowed if
// one of the fields allows. All other results are OtherResult.
func ResultOutcome(result any) Outcome {
	switch v := result.(type) {
	case bool:
		return verdict(v)
	case map[string]any:
		return VerdictOutcome(v["allow"], v["allowed"], v["deny"])
	default:
		return OtherResult
	}
}

// VerdictOutcome returns the [ResultOutcome] of an object with these values of
// the fields "allow", "allowed" and "deny". nil stands for a missing field.
func VerdictOutcome(allow, allowed, deny any) Outcome {
	outcome := OtherResult
	for _, field := range [...]Outcome{allows(allow), allows(allowed), denies(deny)} {
		switch field {
		case Denied:
			return Denied
		case Allowed:
			outcome = Allowed
		}
	}
	return outcome
}

func allows(v any) Outcome {
	if b, ok := v.(bool); ok {
		return verdict(b)
	}
	return OtherResult
}

func denies(v any) Outcome {
	switch v := v.(type) {
	case bool:
		return verdict(!v)
	case []any:
		return verdict(len(v) == 0)
	case map[string]any:
		return verdict(len(v) == 0)
	case string:
		return verdict(v == "")
	default:
		return OtherResult
	}
}

func verdict(allowed bool) Outcome {
	if allowed {
		return Allowed
	}
	return Denied
}

// QueryOutcome returns the outcome of an ad-hoc query, whose result is a list
// of bindings. An empty list and nil are Undefined. For other results,
// QueryOutcome returns their [ResultOutcome].
func QueryOutcome(result any) Outcome {
	if result == nil {
		return Undefined
	}
	if bindings, ok := result.([]any); ok && len(bindings) == 0 {
		return Undefined
	}
	return ResultOutcome(result)
}

// ErrorOutcome returns the outcome of a decision whose error has this code of
// OPA. It is Undefined for the codes with which OPA's server and SDK report a
// missing result, Cancelled for a cancelled evaluation, and otherwise Error.
func ErrorOutcome(code string) Outcome {
	switch code {
	case "undefined_document", "opa_undefined_error":
		return Undefined
	case "eval_cancel_error", "cancelled": // the latter is WebAssembly's
		return Cancelled
	default:
		return Error
	}
}

// MessageOutcome returns the outcome of a decision whose error has this message
// and no code of OPA. It is Undefined for the message with which
// opa-envoy-plugin reports a missing result. It is Cancelled if the message
// ends like an error of Go's package context, and otherwise Error.
func MessageOutcome(message string) Outcome {
	switch {
	case message == "undefined decision":
		return Undefined
	case strings.HasSuffix(message, "context canceled"), strings.HasSuffix(message, "context deadline exceeded"):
		return Cancelled
	default:
		return Error
	}
}

// HidesOutcome reports whether a mask policy hides the outcome if it removes or
// replaces the value at this path of an event. [ResultOutcome] depends on the
// values at such paths, for example "/result/allow".
func HidesOutcome(path string) bool {
	switch path {
	case "/result", "/result/allow", "/result/allowed", "/result/deny":
		return true
	default:
		return false
	}
}
