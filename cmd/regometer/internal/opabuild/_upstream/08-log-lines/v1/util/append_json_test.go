// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package util

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// AppendJSON gives the text and the error of json.Marshal.
func TestAppendJSON(t *testing.T) {
	cycle := map[string]any{}
	cycle["list"] = []any{cycle}
	var deep any = "bottom"
	for range 2 * startDetectingCyclesAfter {
		deep = []any{map[string]any{"x": deep}}
	}

	for note, value := range map[string]any{
		"nothing":   []any{nil, map[string]any(nil), map[string]string(nil), []any(nil), (*int)(nil)},
		"empty":     []any{map[string]any{}, map[string]string{}, []any{}, ""},
		"numbers":   []any{int64(math.MinInt64), uint64(math.MaxUint64), 1, 1e21, json.Number("1e5"), json.Number("")},
		"texts":     []any{"<a href='&'>", "\u2028\x00\x7f", "\"\\/\n", "\xff", "é"},
		"keys":      map[string]any{"b": true, "a": false, "": nil, "<\xff>": 1, "B": map[string]string{"é": "&", "e": ""}},
		"other":     []any{time.Unix(0, 5), json.RawMessage(` { "a" : 1 } `), []string{"a"}, map[int]any{2: nil, 1: "x"}},
		"deep":      deep,
		"cycle":     cycle,
		"no number": map[string]any{"x": []any{math.NaN()}},
		"no JSON":   []any{make(chan int)},
		"invalid":   map[string]any{"x": json.Number("one")},
	} {
		exp, expErr := json.Marshal(value)
		got, err := AppendJSON([]byte("> "), value)
		if (err == nil) != (expErr == nil) || err == nil && string(got) != "> "+string(exp) {
			t.Errorf("%s: expected %s, %v, got %s, %v", note, exp, expErr, got, err)
		}
	}

	value := any(map[string]any{"text": "a", "nested": map[string]any{"list": []any{int64(1), nil, true}}})
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(10, func() { buf, _ = AppendJSON(buf[:0], value) }); n != 0 {
		t.Errorf("expected no allocation, got %v", n)
	}
}
