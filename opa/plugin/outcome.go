// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/sdk"
	"github.com/open-policy-agent/opa/v1/server/types"

	"github.com/regometer/regometer/rollup"
)

// outcomeOf returns how a decision ended. A result that the mask policy hid or
// changed is neither yes nor no.
func outcomeOf(event *logs.EventV1) rollup.Outcome {
	if event.Error != nil {
		if isUndefined(event.Error) {
			return rollup.Undefined
		}
		return rollup.Error
	}
	if masked(event) {
		return rollup.OtherResult
	}
	if event.Result == nil {
		return rollup.Undefined
	}
	if event.Query != "" && noAnswer(*event.Result) {
		return rollup.Undefined
	}
	return rollup.ResultOutcome(*event.Result)
}

// noAnswer reports whether the result of a query is an empty list of bindings.
// A mask policy turns it into one of the simple types.
func noAnswer(result any) bool {
	switch bindings := result.(type) {
	case nil:
		return true
	case types.AdhocQueryResultSetV1:
		return len(bindings) == 0
	case []any:
		return len(bindings) == 0
	}
	return false
}

// masked reports whether the mask policy removed or replaced what the outcome
// is judged by.
func masked(event *logs.EventV1) bool {
	for _, paths := range [...][]string{event.Erased, event.Masked} {
		for _, path := range paths {
			if rest, ok := strings.CutPrefix(path, "/result"); ok && (rest == "" || slices.Contains(verdicts, rest)) {
				return true
			}
		}
	}
	return false
}

// verdicts are the fields of an object that [rollup.ResultOutcome] judges.
var verdicts = []string{"/allow", "/allowed", "/deny"}

// isUndefined reports whether an error says that there is no such decision:
// POST / and the SDK do so by an error.
func isUndefined(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) { //nolint:errorlint // errors.As allocates
		case *types.ErrorV1:
			if e != nil && e.Code == types.CodeUndefinedDocument {
				return true
			}
		case *sdk.Error:
			if e != nil && e.Code == sdk.UndefinedErr {
				return true
			}
		}
	}
	return false
}
