// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// An event has the JSON of json.Marshal, with each field alone and with all.
func TestAppendEventJSON(t *testing.T) {
	t.Parallel()

	var value any = map[string]any{"<\xff>": []any{json.Number("1e100"), "é", nil, true}}
	all := EventV1{
		Labels: map[string]string{"id": "<x>"}, DecisionID: "&", BatchDecisionID: "b", TraceID: "c", SpanID: "d", Revision: "e",
		Bundles: map[string]BundleInfoV1{"x": {Revision: "1"}, "": {}}, Path: "a/b", Query: "data.a > 1",
		Input: &value, Result: &value, IntermediateResults: map[string]any{"x": value}, MappedResult: &value, NDBuiltinCache: &value,
		Erased: []string{"/input"}, Masked: []string{"/result"}, Error: ast.Errors{ast.NewError(ast.TypeErr, nil, "<text>")},
		RequestedBy: "127.0.0.1:80", Timestamp: time.Unix(1, 5), Metrics: map[string]any{"timer_x_ns": int64(1), "counter_x": uint64(2)},
		RequestID: 1 << 63, RuleLabels: []map[string]any{{"x": value}},
		RequestContext: &RequestContext{HTTPRequest: &HTTPRequestContext{Headers: map[string][]string{"X": {"y"}}}}, Custom: map[string]any{"x": 1},
	}
	events := map[string]*EventV1{"all": &all, "nothing": {}, "no JSON": {Custom: map[string]any{"x": func() {}}}, "error": {Error: errors.New("x")}, "year": {Timestamp: time.Unix(1<<40, 0)}}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[EventV1]()) {
		if value := reflect.ValueOf(all).FieldByIndex(field.Index); field.IsExported() {
			if value.IsZero() {
				t.Errorf("this test lacks a value of %s", field.Name)
			}
			events[field.Name] = &EventV1{}
			reflect.ValueOf(events[field.Name]).Elem().FieldByIndex(field.Index).Set(value)
		}
	}

	for note, event := range events {
		exp, expErr := json.Marshal(event)
		got, err := appendEventJSON(nil, event)
		if !bytes.Equal(got, exp) || (err == nil) != (expErr == nil) {
			t.Errorf("%s: expected %s, %v, got %s, %v", note, exp, expErr, got, err)
		}
	}
}
