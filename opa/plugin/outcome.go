// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/server/types"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// outcomeOf returns the outcome of a decision, and OPA's code of the error if
// it failed. query is "" except for POST /v1/query.
func outcomeOf(v *verdicts.Verdict, err error, result *any, query string) (_ outcome.Outcome, code string) {
	switch {
	case err != nil:
		return failureOf(err)
	case result == nil || *result == nil:
		return outcome.Undefined, ""
	case query != "":
		return queryOutcome(*result), ""
	default:
		return v.Outcome(*result), ""
	}
}

// loggedOutcomeOf does what outcomeOf does, for an event of the decision log. A
// result is neither allowed nor denied if the mask policy removed or changed
// the part of it that decides.
func loggedOutcomeOf(v *verdicts.Verdict, event *logs.EventV1) (_ outcome.Outcome, code string) {
	if event.Error == nil && (slices.ContainsFunc(event.Erased, v.IsHiddenBy) || slices.ContainsFunc(event.Masked, v.IsHiddenBy)) {
		return outcome.Neither, ""
	}
	return outcomeOf(v, event.Error, event.Result, event.Query)
}

// verdictOf returns the verdict for decisions on a path, or for ad-hoc queries.
func verdictOf(set *verdicts.Set, path, query string) *verdicts.Verdict {
	if query != "" {
		path = outcome.Query
	}
	return set.Of(strings.Trim(path, "/"))
}

// queryOutcome extends verdicts.OfQuery, which handles only the types of JSON. It
// also handles OPA's own type, which a result has if no mask policy has changed
// it.
func queryOutcome(result any) outcome.Outcome {
	if bindings, ok := result.(types.AdhocQueryResultSetV1); ok && len(bindings) == 0 {
		return outcome.Undefined
	}
	return verdicts.OfQuery(result)
}

// failureOf returns the outcome of a decision that failed with err, and OPA's
// code if the outcome is Failed. The error's code decides. Without a code, the
// error of a context that ended is Cancelled, and otherwise the message
// decides. (A time-out of http.send has the code of an error in a built-in
// function.)
func failureOf(err error) (_ outcome.Outcome, code string) {
	code, message, ended := fieldsOf(err)
	if ended {
		return outcome.Cancelled, ""
	}
	return verdicts.OfError(code, message)
}

// fieldsOf returns the code of the outermost of OPA's errors that has a code.
// If there is none, it reports that one of the errors is that of a context that
// ended, or returns the message of the outermost error with a field Message.
func fieldsOf(err error) (code, message string, ended bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) { //nolint:errorlint // the loop unwraps errors itself
		case ast.Errors:
			if len(e) > 0 {
				return fieldsOf(e[0])
			}
		case rego.Errors:
			if len(e) > 0 {
				return fieldsOf(e[0])
			}
		}
		if err == context.Canceled || err == context.DeadlineExceeded { //nolint:errorlint // as above
			return "", "", true
		}
		v := reflect.ValueOf(err)
		if v.Kind() != reflect.Pointer {
			continue
		}
		if v.IsNil() {
			return "", message, false
		}
		// The types of OPA's errors have fields of these names. Some are in
		// internal packages.
		if v = v.Elem(); v.Kind() == reflect.Struct {
			if code := textField(v, "Code"); code != "" {
				return code, "", false
			}
			message = cmp.Or(message, textField(v, "Message"))
		}
	}
	return "", message, false
}

// textField returns a string field of a struct, or "" if the struct has no such
// field.
func textField(v reflect.Value, name string) string {
	field, ok := v.Type().FieldByName(name)
	if !ok || field.Type.Kind() != reflect.String {
		return ""
	}
	f, err := v.FieldByIndexErr(field.Index)
	if err != nil { // the field is in a nil embedded struct
		return ""
	}
	return f.String()
}
