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

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	with := func(v any, change func(*logs.EventV1)) logs.EventV1 {
		event := logs.EventV1{Result: &v}
		if change != nil {
			change(&event)
		}
		return event
	}
	usual := (*verdicts.Set)(nil).Of("")
	query := func(e *logs.EventV1) { e.Query = "data.x" }
	erase := func(path string) func(*logs.EventV1) {
		return func(e *logs.EventV1) { e.Erased = []string{"/input/x", path} }
	}
	mask := func(path string) func(*logs.EventV1) { return func(e *logs.EventV1) { e.Masked = []string{path} } }
	for name, test := range map[string]struct {
		event logs.EventV1
		want  outcome.Outcome
	}{
		"true":                      {with(true, nil), outcome.Allowed},
		"object":                    {with(object{"allow": false}, nil), outcome.Denied},
		"null":                      {with(nil, nil), outcome.Undefined},
		"no result":                 {logs.EventV1{}, outcome.Undefined},
		"erased":                    {logs.EventV1{Erased: []string{"/result"}}, outcome.Neither},
		"changed":                   {with(true, mask("/result")), outcome.Neither},
		"allow erased":              {with(object{}, erase("/result/allow")), outcome.Neither},
		"deny changed":              {with(object{"deny": true}, mask("/result/deny")), outcome.Neither},
		"input erased":              {with(true, erase("/input")), outcome.Allowed},
		"query":                     {with(types.AdhocQueryResultSetV1{{"x": 1}}, query), outcome.Neither},
		"query without answer":      {with(types.AdhocQueryResultSetV1(nil), query), outcome.Undefined},
		"query with empty answer":   {with(types.AdhocQueryResultSetV1{}, query), outcome.Undefined},
		"query without answer, any": {with([]any{}, query), outcome.Undefined},
		"error, result erased":      {logs.EventV1{Error: errors.New("x"), Erased: []string{"/result"}}, outcome.Failed},
	} {
		if got, _ := loggedOutcomeOf(usual, &test.event); got != test.want {
			t.Errorf("%s: the outcome is %v, want %v", name, got, test.want)
		}
		if test.event.Erased == nil && test.event.Masked == nil {
			if got, _ := outcomeOf(usual, test.event.Error, test.event.Result, test.event.Query); got != test.want {
				t.Errorf("%s: from the server the outcome is %v, want %v", name, got, test.want)
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

// numbered is an error whose field Code is not a text.
type numbered struct{ Code int }

func (*numbered) Error() string { return "" }

// TestFailures checks the outcomes of errors. The reader of decision logs must
// agree, whether the errors are objects, as OPA uploads them, or strings, as
// its console prints them.
func TestFailures(t *testing.T) {
	t.Parallel()
	const neither, text, both = 0, 1, 2
	at := &ast.Location{File: "policy.rego", Row: 3, Col: 5}
	undefined := types.NewErrorV1(types.CodeUndefinedDocument, "no %s", "document")
	var nilPointer *wasmError
	for name, test := range map[string]struct {
		err    error
		want   outcome.Outcome
		code   string
		logged int // the forms in decision logs that say as much
	}{
		"caller cancelled":         {&topdown.Error{Code: topdown.CancelErr, Message: "caller cancelled query execution"}, outcome.Cancelled, "", both},
		"in a halt":                {topdown.Halt{Err: &topdown.Error{Code: topdown.CancelErr}}, outcome.Cancelled, "", neither},
		"WebAssembly cancelled":    {fmt.Errorf("x: %w", &wasmError{"cancelled", ""}), outcome.Cancelled, "", neither},
		"context cancelled":        {fmt.Errorf("x: %w", context.Canceled), outcome.Cancelled, "", text},
		"deadline":                 {fmt.Errorf("x: %w", context.DeadlineExceeded), outcome.Cancelled, "", text},
		"http.send timed out":      {&topdown.Error{Code: topdown.BuiltinErr, Message: "http.send: request timed out"}, outcome.Failed, "eval_builtin_error", both},
		"a code beside a deadline": {causedError{&topdown.Error{Code: topdown.BuiltinErr}, context.DeadlineExceeded}, outcome.Failed, "eval_builtin_error", neither},
		"conflict":                 {&topdown.Error{Code: topdown.ConflictErr, Message: "x: y", Location: at}, outcome.Failed, "eval_conflict_error", both},
		"compile":                  {ast.Errors{{Code: ast.UnsafeVarErr, Message: "x", Location: at}}, outcome.Failed, "rego_unsafe_var_error", both},
		"invalid path":             {types.NewErrorV1(types.CodeInvalidParameter, "invalid path"), outcome.Undefined, "", both},
		"no file":                  {ast.Errors{{Code: ast.ParseErr, Message: "x", Location: &ast.Location{Row: 3, Col: 5}}}, outcome.Failed, "rego_parse_error", both},
		"several":                  {ast.Errors{{Code: ast.TypeErr, Message: "x", Location: at}, {Code: ast.ParseErr, Message: "y"}}, outcome.Undefined, "", both},
		"several of Rego's":        {rego.Errors{ast.Errors{{Code: ast.TypeErr, Message: "x", Location: at}}, errors.New("y")}, outcome.Undefined, "", both},
		"empty":                    {ast.Errors{}, outcome.Failed, "", neither},
		"undefined document":       {undefined, outcome.Undefined, "", both},
		"server":                   {types.NewErrorV1(types.CodeInternal, "x").WithError(&topdown.Error{Code: topdown.BuiltinErr}), outcome.Failed, "internal_error", both},
		"storage":                  {&storage.Error{Code: storage.NotFoundErr, Message: "x"}, outcome.Failed, "storage_not_found_error", both},
		"SDK":                      {&sdk.Error{Code: "opa_internal_error"}, outcome.Failed, "opa_internal_error", neither},
		"SDK undefined":            {&sdk.Error{Code: sdk.UndefinedErr, Message: "x"}, outcome.Undefined, "", both},
		"nil pointer":              {nilPointer, outcome.Failed, "", neither},
		"no text":                  {&numbered{5}, outcome.Failed, "", neither},
		"Envoy's undefined":        {&messageError{"undefined decision"}, outcome.Undefined, "", both},
		"Envoy's deadline":         {&messageError{"check request timed out before query execution: context deadline exceeded"}, outcome.Cancelled, "", both},
		"Envoy's cancelled":        {&messageError{"check request explicitly cancelled before query execution: context canceled"}, outcome.Cancelled, "", both},
		"Envoy's other":            {&messageError{"multiple evaluation results"}, outcome.Failed, "", both},
		"a nil field":              {&hollow{}, outcome.Failed, "", neither},
		"outermost message":        {&insideError{"undefined decision", &messageError{"context canceled"}}, outcome.Undefined, "", neither},
		"outermost code":           {&outer{"internal_error", &topdown.Error{Code: topdown.TypeErr}}, outcome.Failed, "internal_error", neither},
	} {
		if outcome, code := failureOf(test.err); outcome != test.want || code != test.code {
			t.Errorf("%s: the outcome is %v %q, want %v %q", name, outcome, code, test.want, test.code)
		}
		var forms []any
		if test.logged >= text {
			forms = append(forms, test.err.Error())
		}
		if test.logged == both {
			forms = append(forms, test.err)
		}
		for _, form := range forms {
			line, err := json.Marshal(form)
			if err != nil {
				t.Fatal(err)
			}
			var got []logread.Event
			r := logread.NewReader(logread.Options{
				Problem: func(logread.Problem, int64) {},
				Event:   func(e *logread.Event) { got = append(got, *e) },
			})
			r.Close(fmt.Appendf(nil, `{"decision_id":"d","path":"p","error":%s}`, line))
			if len(got) != 1 || got[0].Outcome != test.want || got[0].Code != test.code {
				t.Errorf("%s: the reader of %s returns %+v, want %v %q", name, line, got, test.want, test.code)
			}
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

// The list of codes has the codes of this OPA.
func TestCodes(t *testing.T) {
	t.Parallel()
	known := stages.ErrorCodes()
	for _, code := range []string{
		topdown.InternalErr, topdown.CancelErr, topdown.ConflictErr, topdown.TypeErr, topdown.BuiltinErr, topdown.WithMergeErr,
		types.CodeInternal, types.CodeEvaluation, types.CodeUnauthorized, types.CodeInvalidParameter, types.CodeInvalidOperation,
		types.CodeResourceNotFound, types.CodeResourceConflict,
		ast.ParseErr, ast.CompileErr, ast.TypeErr, ast.UnsafeVarErr, ast.RecursionErr,
		storage.InternalErr, storage.NotFoundErr, storage.InvalidTransactionErr,
	} {
		if !slices.Contains(known, code) {
			t.Errorf("the list lacks the code %s", code)
		}
	}
	if !slices.IsSorted(known) {
		t.Error("the list of codes is not sorted")
	}
}
