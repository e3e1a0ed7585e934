// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package outcome says how decisions of Open Policy Agent (OPA) end.
//
// Before 1.0, there may be more outcomes. The texts of these stay.
package outcome

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

// The outcomes.
const (
	Allowed Outcome = iota
	Denied
	Neither   // a result that says neither yes nor no
	Undefined // no result
	Failed    // an error
	Cancelled // the client left, or its deadline passed, before the result

	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "denied", "result", "undefined", "error", "cancelled"}

// String returns "allowed", "denied", "result" (for [Neither]), "undefined",
// "error" (for [Failed]) or "cancelled". For an invalid Outcome it returns
// "result".
func (o Outcome) String() string { return outcomeNames[o.Valid()] }

// Valid returns o, or Neither if o is not one of the outcomes.
func (o Outcome) Valid() Outcome {
	if o >= outcomes {
		return Neither
	}
	return o
}
