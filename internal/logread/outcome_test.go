// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/verdicts"
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
		fields = append(fields, fmt.Sprintf(`"long":%q`, strings.Repeat("l", longestText)))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// The reader finds the same outcomes as package outcome finds in parsed results,
// whatever rules the paths have, and however many texts there are.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	verdicts := must(verdicts.New(map[string]string{
		"a/*": "result.ok", "b/*": "not result.x.y", "c/*": `result.x == "a\"b"`, "d/*": "not result", "e/*": `not result == "no"`,
	}))
	var got Event
	reader := NewReader(Options{Verdicts: verdicts, Event: func(e *Event) { got = *e }, Problem: func(Problem, int64) {}})
	var results []string
	line := make([]byte, 0, 8<<10) // where all events are
	rolls(t, 20_000, 1000, func(r *rand.Rand) bool {
		if len(results) < 300 {
			results = append(results, randomResult(r, 3), randomResult(r, 3))
		}
		path := oneOf(r, "a", "b", "c", "d", "e", "g") + oneOf(r, "", "/deny") + fmt.Sprint("/", r.IntN(40), oneOf(r, "", "/deny"))
		result, more := oneOf(r, results...), ""
		verdict, want, code, hidden := verdicts.Of(path), outcome.Undefined, "", false
		if result != "null" {
			var v any
			must(0, json.Unmarshal([]byte(result), &v))
			want = verdict.Outcome(v)
		}
		switch pointer := oneOf(r, "/result/ok", "/result/x", "/result/deny", "/input"); r.IntN(16) {
		case 0, 1:
			more = `,"erased":["` + pointer + `"]`
			if hidden = verdict.IsHiddenBy(pointer); hidden {
				want = outcome.Neither
			}
		case 2, 3, 4:
			want, code = outcome.Failed, fmt.Sprintf("eval_%c_error", 'a'+r.IntN(26))
			more = `,"error":"1 error occurred: p.rego:3: ` + code + `: x"`
		}
		line = append(line[:0], `{"decision_id":"1","path":"`+path+`","result":`+result+more+"}\n"...)
		if reader.Read(line); got.Outcome != want || got.Code != code || got.Hidden != hidden {
			t.Fatalf("%s: %v %q %t, want %v %q %t", line, got.Outcome, got.Code, got.Hidden, want, code, hidden)
		}
		return got.Outcome == outcome.Allowed
	})
}
