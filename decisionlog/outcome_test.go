// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/outcome"
)

// randomResult returns a result with fields that verdicts look at.
func randomResult(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		return oneOf(r, "true", "false", "null", "0", "[]", "[1]", "{}", `""`, `"no"`, `"a\"b"`, `"\u0061\u0022b"`, "[ ]", "{ }")
	}
	var fields []string
	for range r.IntN(4) {
		key := oneOf(r, "ok", "x", "y", "allow", "allowed", "deny", "violation", "decision", "response", "o\\u006b", "reason")
		fields = append(fields, fmt.Sprintf(`"%s" : %s`, key, randomResult(r, depth-1)))
	}
	if r.IntN(4) == 0 { // a result that is too long to remember
		fields = append(fields, fmt.Sprintf(`"long":%q`, strings.Repeat("l", longestResult)))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// The reader finds the same outcomes as package outcome finds in parsed results,
// whatever rules the paths have.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	verdicts := must(outcome.NewVerdicts(map[string]string{
		"a": "result.ok", "b": "not result.x.y", "c": `result.x == "a\"b"`, "d": "not result", "e/*": `not result == "no"`,
	}))
	var got outcome.Outcome
	reader := NewReader(Options{Verdicts: verdicts, Event: func(e *Event) { got = e.Outcome }, Problem: func(Problem, int64) {}})
	var results []string
	line := make([]byte, 0, 8<<10) // where all events are
	rolls(t, 20_000, 2000, func(r *rand.Rand) bool {
		if len(results) < 300 {
			results = append(results, randomResult(r, 3))
		}
		path, result := oneOf(r, "a", "b", "c", "d", "e/f", "g", "g/deny"), oneOf(r, results...)
		var parsed any
		must(0, json.Unmarshal([]byte(result), &parsed))
		want := map[bool]outcome.Outcome{true: outcome.Undefined, false: verdicts.Of(path).Outcome(parsed)}[parsed == nil]
		reader.Read(fmt.Appendf(line, `{"decision_id":"1","path":"%s","result":%s}`+"\n", path, result))
		if got != want {
			t.Fatalf("%s of %s: the outcome is %v, want %v", result, path, got, want)
		}
		return got == outcome.Allowed
	})
}
