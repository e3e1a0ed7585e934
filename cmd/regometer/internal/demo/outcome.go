// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"

	"github.com/regometer/regometer/rollup"
)

// outcome is what became of a request.
type outcome string

const (
	allowed   outcome = "allowed"
	denied    outcome = "denied"
	undefined outcome = "undefined"
	failed    outcome = "error"
	unjudged  outcome = "result"    // neither yes nor no: a list, claims, a query's bindings
	malformed outcome = "malformed" // refused with HTTP 400 and never logged
)

// outcomes lists all of them in the order of the report.
var outcomes = []outcome{allowed, denied, undefined, failed, unjudged, malformed}

// outcome classifies the result in an answer to the request, nil if there is
// none, as the plugin classifies that of the decision.
func (r request) outcome(result json.RawMessage) outcome {
	if result == nil {
		return undefined
	}
	var document any
	if json.Unmarshal(result, &document) != nil {
		return unjudged
	}
	if r.isQuery() {
		return outcome(rollup.QueryOutcome(document).String())
	}
	return outcome(rollup.ResultOutcome(document).String())
}
