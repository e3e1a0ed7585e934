// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "strings"

// Outcome says how a decision ended.
type Outcome uint8

// The outcomes. Allowed, Denied and OtherResult have a result, see
// [ResultOutcome].
const (
	Allowed Outcome = iota
	Denied
	OtherResult // a result that says neither yes nor no
	Undefined   // no result
	Error
	Cancelled // the client left, or its deadline passed, before there was a result

	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "denied", "result", "undefined", "error", "cancelled"}

// String returns "allowed", "denied", "result" (for [OtherResult]),
// "undefined", "error" or "cancelled". An invalid Outcome counts as
// OtherResult.
func (o Outcome) String() string { return outcomeNames[o.known()] }

func (o Outcome) known() Outcome {
	if o >= outcomes {
		return OtherResult
	}
	return o
}

// ResultOutcome returns the outcome of a decision with this result and without
// an error.
//
// A boolean is Allowed or Denied. In an object, these fields count:
//
//   - "allow" and, as in the answers of Envoy and Kubernetes, "allowed": if they
//     are boolean.
//   - "deny": a boolean; or a list, a set or an object of reasons, or a string
//     with a reason, which deny if they are not empty.
//
// The object is Denied if one of them denies, whatever the others say, and
// Allowed if one of them allows and none denies. All other results are
// OtherResult.
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

// VerdictOutcome is [ResultOutcome] of an object with these values of the
// fields "allow", "allowed" and "deny". nil stands for a field that is missing.
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

// QueryOutcome is [ResultOutcome] of an ad-hoc query, whose result is a list of
// bindings. An empty list is Undefined.
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
// OPA: Undefined, if OPA's server and SDK report a missing result so;
// Cancelled; or Error.
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
// and no code of OPA: Undefined, if opa-envoy-plugin reports a missing result
// so; Cancelled, if the message ends as Go's errors of contexts do; or Error.
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

// HidesOutcome reports whether [ResultOutcome] depends on the value at this
// path of an event, such as "/result/allow", which a mask policy may remove or
// replace.
func HidesOutcome(path string) bool {
	switch path {
	case "/result", "/result/allow", "/result/allowed", "/result/deny":
		return true
	default:
		return false
	}
}
