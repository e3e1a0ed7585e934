// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/rollup"
)

// The reader finds the same outcomes as package rollup finds in parsed results,
// whatever rules the paths have.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	verdicts, err := rollup.NewVerdicts(map[string]string{
		"a": "result.ok", "b": "not result.x.y", "c": `result.x == "a\"b"`, "d": "not result", "e/*": `not result == "no"`,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	var value func(depth int) string
	value = func(depth int) string {
		if depth == 0 || r.IntN(3) == 0 {
			return pick("true", "false", "null", "0", "[]", "[1]", "{}", `""`, `"no"`, `"a\"b"`, `"\u0061\u0022b"`, "[ ]", "{ }")
		}
		var fields []string
		for range r.IntN(4) {
			key := pick("ok", "x", "y", "allow", "allowed", "deny", "violation", "decision", "response", "o\\u006b", "reason")
			fields = append(fields, fmt.Sprintf(`"%s" : %s`, key, value(depth-1)))
		}
		if r.IntN(4) == 0 { // a result that is too long to remember
			fields = append(fields, fmt.Sprintf(`"long":%q`, strings.Repeat("l", longestResult)))
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	var results, paths []string
	for range 300 {
		results = append(results, value(3))
	}
	var text []byte
	var want []rollup.Outcome
	for range 20_000 {
		path, result := pick("a", "b", "c", "d", "e/f", "g", "g/deny"), results[r.IntN(len(results))]
		text = fmt.Appendf(text, `{"decision_id":"1","path":"%s","result":%s}`+"\n", path, result)
		var parsed any
		if err := json.Unmarshal([]byte(result), &parsed); err != nil {
			t.Fatal(err)
		}
		want = append(want, verdicts.Of(path).Outcome(parsed))
		paths = append(paths, path+": "+result)
	}
	var got []rollup.Outcome
	reader := NewReader(Options{
		Verdicts: verdicts,
		Event:    func(e *Event) { got = append(got, e.Outcome) },
		Problem:  func(Problem, int64) {},
	})
	reader.Close(text)
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%s: the outcome is %v, want %v", paths[i], got[i], want[i])
			}
		}
		t.Fatalf("got %d events, want %d", len(got), len(want))
	}
}
