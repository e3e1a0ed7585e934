// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "strings"

// Outcome is how a decision ended.
type Outcome uint8

// The outcomes. Allowed, Denied and OtherResult have a result, see
// [ResultOutcome].
const (
	Allowed Outcome = iota
	Denied
	OtherResult // a result that says neither yes nor no
	Undefined   // no result
	Error
	Cancelled // the client went away, or its time was over, before there was a result

	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "denied", "result", "undefined", "error", "cancelled"}

// String returns "allowed", "denied", "result" (of [OtherResult]), "undefined",
// "error" or "cancelled". What is none of these counts as OtherResult.
func (o Outcome) String() string { return outcomeNames[o.known()] }

func (o Outcome) known() Outcome {
	if o >= outcomes {
		return OtherResult
	}
	return o
}

// ResultOutcome says what the result of a decision without error amounts to.
//
// A boolean is Allowed or Denied. An object is judged by those of its fields
// that say something:
//
//   - "allow" and, as in Envoy's and Kubernetes' answers, "allowed": if
//     boolean;
//   - "deny": a boolean; or a list (or set) or an object of reasons, or a
//     string with one, which deny unless they are empty.
//
// One that says no suffices for Denied, whatever the others say. Otherwise one
// that says yes makes it Allowed. Without any, as for all other results, it is
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

// VerdictOutcome is [ResultOutcome] of an object with these values of its
// fields "allow", "allowed" and "deny"; nil is that of one it does not have.
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

// QueryOutcome is [ResultOutcome] for an ad-hoc query, whose result is a list
// of bindings: without any, it is Undefined.
func QueryOutcome(result any) Outcome {
	if result == nil {
		return Undefined
	}
	if bindings, ok := result.([]any); ok && len(bindings) == 0 {
		return Undefined
	}
	return ResultOutcome(result)
}

// ErrorOutcome says what an error with a code of OPA's amounts to: Undefined
// for those by which OPA's server and its SDK say so, Cancelled, or Error.
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

// MessageOutcome says what an error that has no code of OPA's amounts to, by
// its text: Undefined as opa-envoy-plugin says so, Cancelled if it ends in what
// Go says of a context that ended, or Error.
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

// HidesOutcome reports whether a mask policy that removed or replaced what is
// at a path of an event, such as "/result/allow", changed what [ResultOutcome]
// judges.
func HidesOutcome(path string) bool {
	switch path {
	case "/result", "/result/allow", "/result/allowed", "/result/deny":
		return true
	default:
		return false
	}
}
