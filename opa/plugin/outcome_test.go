// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/sdk"
	"github.com/open-policy-agent/opa/v1/server/types"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	result := func(v any) logs.EventV1 { return logs.EventV1{Result: &v} }
	query := func(v any) logs.EventV1 { return logs.EventV1{Query: "data.x", Result: &v} }
	failure := func(err error) logs.EventV1 { return logs.EventV1{Error: err} }
	erased := func(v any, path string) logs.EventV1 {
		return logs.EventV1{Result: &v, Erased: []string{"/input/x", path}}
	}
	changed := func(v any, path string) logs.EventV1 { return logs.EventV1{Result: &v, Masked: []string{path}} }
	undefinedDocument := types.NewErrorV1(types.CodeUndefinedDocument, "no %s", "document")
	var nilError *types.ErrorV1
	for name, test := range map[string]struct {
		event logs.EventV1
		want  rollup.Outcome
	}{
		"true":                      {result(true), rollup.Allowed},
		"false":                     {result(false), rollup.Denied},
		"allow true":                {result(object("allow", true)), rollup.Allowed},
		"allow false":               {result(object("allow", false, "deny", false)), rollup.Denied},
		"deny true":                 {result(object("deny", true)), rollup.Denied},
		"deny false":                {result(object("deny", false)), rollup.Allowed},
		"reasons":                   {result(object("deny", []any{"x"})), rollup.Denied},
		"neither":                   {result(object("x", true)), rollup.OtherResult},
		"list":                      {result([]any{}), rollup.OtherResult},
		"text":                      {result("true"), rollup.OtherResult},
		"null":                      {result(nil), rollup.OtherResult},
		"no result":                 {logs.EventV1{}, rollup.Undefined},
		"erased":                    {logs.EventV1{Erased: []string{"/result"}}, rollup.OtherResult},
		"changed":                   {changed(true, "/result"), rollup.OtherResult},
		"allow erased":              {erased(object(), "/result/allow"), rollup.OtherResult},
		"allow changed":             {changed(object("allow", true), "/result/allow"), rollup.OtherResult},
		"deny changed":              {changed(object("deny", true), "/result/deny"), rollup.OtherResult},
		"input erased":              {erased(true, "/input"), rollup.Allowed},
		"query":                     {query(types.AdhocQueryResultSetV1{{"x": 1}}), rollup.OtherResult},
		"query without answer":      {query(types.AdhocQueryResultSetV1(nil)), rollup.Undefined},
		"query without answer, any": {query([]any{}), rollup.Undefined},
		"query null":                {query(nil), rollup.Undefined},
		"error":                     {failure(errors.New("eval_builtin_error")), rollup.Error},
		"error, result erased":      {logs.EventV1{Error: errors.New("x"), Erased: []string{"/result"}}, rollup.Error},
		"error with a result":       {logs.EventV1{Error: errors.New("x"), Result: result(true).Result}, rollup.Error},
		"undefined document":        {failure(undefinedDocument), rollup.Undefined},
		"wrapped":                   {failure(fmt.Errorf("x: %w", undefinedDocument)), rollup.Undefined},
		"other code":                {failure(types.NewErrorV1(types.CodeInternal, "x")), rollup.Error},
		"nil in an interface":       {failure(nilError), rollup.Error},
		"SDK undefined":             {failure(&sdk.Error{Code: sdk.UndefinedErr}), rollup.Undefined},
		"SDK other":                 {failure(&sdk.Error{Code: "x"}), rollup.Error},
	} {
		if got, _ := loggedOutcomeOf(&test.event); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		if test.event.Erased == nil && test.event.Masked == nil {
			if got, _ := outcomeOf(test.event.Error, test.event.Result, test.event.Query); got != test.want {
				t.Errorf("%s, from the server: %v, want %v", name, got, test.want)
			}
		}
	}
}

// wasmError is like that of OPA's internal package for WebAssembly.
type wasmError struct{ Code, Message string }

func (e *wasmError) Error() string { return e.Message }

// messageError is like that of opa-envoy-plugin.
type messageError struct {
	Message string `json:"message"`
}

func (e *messageError) Error() string { return e.Message }

// hollow is an error whose fields are those of a nil pointer.
type hollow struct{ *messageError }

func (*hollow) Error() string { return "" }

// numbered is an error whose field Code is no text.
type numbered struct{ Code int }

func (*numbered) Error() string { return "" }

func TestFailures(t *testing.T) {
	t.Parallel()
	deadline := fmt.Errorf("x: %w", context.DeadlineExceeded)
	var nilPointer *wasmError
	for name, test := range map[string]struct {
		err  error
		want rollup.Outcome
		code string
	}{
		"caller cancelled":         {&topdown.Error{Code: topdown.CancelErr}, rollup.Cancelled, ""},
		"in a halt":                {topdown.Halt{Err: &topdown.Error{Code: topdown.CancelErr}}, rollup.Cancelled, ""},
		"WebAssembly cancelled":    {fmt.Errorf("x: %w", &wasmError{"cancelled", ""}), rollup.Cancelled, ""},
		"context cancelled":        {fmt.Errorf("x: %w", context.Canceled), rollup.Cancelled, ""},
		"deadline":                 {deadline, rollup.Cancelled, ""},
		"http.send timed out":      {&topdown.Error{Code: topdown.BuiltinErr, Message: "http.send: request timed out"}, rollup.Error, "eval_builtin_error"},
		"a code beside a deadline": {causedError{&topdown.Error{Code: topdown.BuiltinErr}, context.DeadlineExceeded}, rollup.Error, "eval_builtin_error"},
		"conflict":                 {fmt.Errorf("x: %w", &topdown.Error{Code: topdown.ConflictErr}), rollup.Error, "eval_conflict_error"},
		"compile":                  {ast.Errors{{Code: ast.UnsafeVarErr}}, rollup.Error, "rego_unsafe_var_error"},
		"several":                  {rego.Errors{ast.Errors{{Code: ast.TypeErr}}, errors.New("x")}, rollup.Error, "rego_type_error"},
		"none":                     {rego.Errors{}, rollup.Error, ""},
		"empty":                    {ast.Errors{}, rollup.Error, ""},
		"storage":                  {&storage.Error{Code: storage.NotFoundErr}, rollup.Error, "storage_not_found_error"},
		"SDK":                      {&sdk.Error{Code: "opa_internal_error"}, rollup.Error, "opa_internal_error"},
		"nil pointer":              {nilPointer, rollup.Error, ""},
		"nil topdown":              {(*topdown.Error)(nil), rollup.Error, ""},
		"no text":                  {&numbered{5}, rollup.Error, ""},
		"Envoy's undefined":        {&messageError{"undefined decision"}, rollup.Undefined, ""},
		"Envoy's deadline":         {&messageError{"check request timed out before query execution: context deadline exceeded"}, rollup.Cancelled, ""},
		"Envoy's other":            {&messageError{"multiple evaluation results"}, rollup.Error, ""},
		"nothing where it looks":   {&hollow{}, rollup.Error, ""},
		"outermost message":        {&insideError{"undefined decision", &messageError{"context canceled"}}, rollup.Undefined, ""},
		"plain":                    {errors.New("eval_cancel_error"), rollup.Error, ""},
		"outermost code":           {&outer{"internal_error", &topdown.Error{Code: topdown.TypeErr}}, rollup.Error, "internal_error"},
	} {
		if outcome, code := failureOf(test.err); outcome != test.want || code != test.code {
			t.Errorf("%s: %v %q, want %v %q", name, outcome, code, test.want, test.code)
		}
	}
}

// causedError is an error that also is its cause, as time-outs of net/http are.
type causedError struct {
	error
	cause error
}

func (e causedError) Unwrap() error        { return e.error }
func (e causedError) Is(target error) bool { return target == e.cause }

// insideError is an error with a message around another one.
type insideError struct {
	Message string
	err     error
}

func (e *insideError) Error() string { return e.Message }
func (e *insideError) Unwrap() error { return e.err }

type outer struct {
	Code string
	err  error
}

func (e *outer) Error() string { return "" }
func (e *outer) Unwrap() error { return e.err }

// A decision log's reader judges errors as the plugin does, whether they are
// objects, as OPA uploads them, or strings, as its console prints them.
func TestLoggedErrors(t *testing.T) {
	t.Parallel()
	at := &ast.Location{File: "policy.rego", Row: 3, Col: 5}
	for name, err := range map[string]error{
		"cancelled":          &topdown.Error{Code: topdown.CancelErr, Message: "caller cancelled query execution"},
		"conflict":           &topdown.Error{Code: topdown.ConflictErr, Message: "x: y", Location: at},
		"compile":            ast.Errors{{Code: ast.UnsafeVarErr, Message: "x", Location: at}},
		"no file":            ast.Errors{{Code: ast.ParseErr, Message: "x", Location: &ast.Location{Row: 3, Col: 5}}},
		"several":            ast.Errors{{Code: ast.TypeErr, Message: "x", Location: at}, {Code: ast.ParseErr, Message: "y"}},
		"in one another":     rego.Errors{ast.Errors{{Code: ast.TypeErr, Message: "x", Location: at}}},
		"several of Rego's":  rego.Errors{&topdown.Error{Code: topdown.TypeErr, Message: "x", Location: at}, errors.New("y")},
		"undefined document": types.NewErrorV1(types.CodeUndefinedDocument, "x"),
		"server":             types.NewErrorV1(types.CodeInternal, "x").WithError(&topdown.Error{Code: topdown.BuiltinErr}),
		"storage":            &storage.Error{Code: storage.NotFoundErr, Message: "x"},
		"no message":         &storage.Error{Code: storage.NotFoundErr},
		"SDK undefined":      &sdk.Error{Code: sdk.UndefinedErr, Message: "x"},
		"Envoy's undefined":  &messageError{"undefined decision"},
		"Envoy's cancelled":  &messageError{"check request explicitly cancelled before query execution: context canceled"},
		"Envoy's other":      &messageError{"multiple evaluation results"},
	} {
		want, wantCode := failureOf(err)
		object, failed := json.Marshal(err)
		if failed != nil {
			t.Fatal(failed)
		}
		text, failed := json.Marshal(err.Error())
		if failed != nil {
			t.Fatal(failed)
		}
		for _, form := range [][]byte{object, text} {
			events := 0
			r := decisionlog.NewReader(decisionlog.Options{
				Problem: func(decisionlog.Problem, int64) {},
				Event: func(e *decisionlog.Event) {
					events++
					if e.Outcome != want || e.Code != wantCode {
						t.Errorf("%s: %s: %v %q, want %v %q", name, form, e.Outcome, e.Code, want, wantCode)
					}
				},
			})
			r.Close(fmt.Appendf(nil, `{"decision_id":"d","error":%s}`, form))
			if events != 1 {
				t.Errorf("%s: %d events of %s", name, events, form)
			}
		}
	}
	// A context's text is all that there is of it in a console's line.
	for _, err := range []error{context.Canceled, fmt.Errorf("x: %w", context.DeadlineExceeded)} {
		r := decisionlog.NewReader(decisionlog.Options{
			Problem: func(decisionlog.Problem, int64) {},
			Event: func(e *decisionlog.Event) {
				if e.Outcome != rollup.Cancelled {
					t.Errorf("%v: %v", err, e.Outcome)
				}
			},
		})
		r.Close(fmt.Appendf(nil, `{"decision_id":"d","error":%q}`, err.Error()))
	}
}

// The list of codes has those of this OPA.
func TestCodes(t *testing.T) {
	t.Parallel()
	known := rollup.ErrorCodes()
	for _, code := range []string{
		topdown.InternalErr, topdown.CancelErr, topdown.ConflictErr, topdown.TypeErr, topdown.BuiltinErr, topdown.WithMergeErr,
		types.CodeInternal, types.CodeEvaluation, types.CodeUnauthorized, types.CodeInvalidParameter, types.CodeInvalidOperation,
		types.CodeResourceNotFound, types.CodeResourceConflict,
		ast.ParseErr, ast.CompileErr, ast.TypeErr, ast.UnsafeVarErr, ast.RecursionErr,
		storage.InternalErr, storage.NotFoundErr, storage.InvalidTransactionErr,
	} {
		if !slices.Contains(known, code) {
			t.Errorf("%s is not in the list", code)
		}
	}
	if !slices.IsSorted(known) {
		t.Error("the list is not sorted")
	}
}
