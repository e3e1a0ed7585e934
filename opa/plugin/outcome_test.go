// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/sdk"
	"github.com/open-policy-agent/opa/v1/server/types"

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
		"error with a result":       {logs.EventV1{Error: errors.New("x"), Result: result(true).Result}, rollup.Error},
		"undefined document":        {failure(undefinedDocument), rollup.Undefined},
		"wrapped":                   {failure(fmt.Errorf("x: %w", undefinedDocument)), rollup.Undefined},
		"other code":                {failure(types.NewErrorV1(types.CodeInternal, "x")), rollup.Error},
		"nil in an interface":       {failure(nilError), rollup.Error},
		"SDK undefined":             {failure(&sdk.Error{Code: sdk.UndefinedErr}), rollup.Undefined},
		"SDK other":                 {failure(&sdk.Error{Code: "x"}), rollup.Error},
	} {
		if got := outcomeOf(&test.event); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
