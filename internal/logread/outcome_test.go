// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

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
		fields = append(fields, fmt.Sprintf(`"long":%q`, strings.Repeat("l", longestText)))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// The reader finds the same outcomes as package outcome finds in parsed results
// and errors, whatever rules the paths have, and however many texts there are.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	verdicts := must(outcome.NewVerdicts(map[string]string{
		"a/*": "result.ok", "b/*": "not result.x.y", "c/*": `result.x == "a\"b"`, "d/*": "not result", "e/*": `not result == "no"`,
	}))
	var got Event
	reader := NewReader(Options{Verdicts: verdicts, Event: func(e *Event) { got = *e }, Problem: func(Problem, int64) {}})
	var results []string
	line := make([]byte, 0, 8<<10) // where all events are
	rolls(t, 20_000, 1000, func(r *rand.Rand) bool {
		if len(results) < 300 {
			results = append(results, randomResult(r, 3), fmt.Sprintf(`"1 error occurred: p.rego:3: eval_%c_error: x"`, 'a'+r.IntN(26)))
		}
		path := oneOf(r, "a", "b", "c", "d", "e", "g") + oneOf(r, "", "/deny") + fmt.Sprint("/", r.IntN(40), oneOf(r, "", "/deny"))
		fields := map[string]json.RawMessage{oneOf(r, "result", "result", "error"): json.RawMessage(oneOf(r, results...))}
		if r.IntN(8) == 0 {
			fields["erased"] = json.RawMessage(oneOf(r, `["/result/ok"]`, `["/result/x"]`, `["/result/deny"]`, `["/input"]`))
		}
		line = append(line[:0], `{"decision_id":"1","path":"`+path+`"`...)
		for key, value := range fields {
			line = fmt.Appendf(line, `,"%s":%s`, key, value)
		}
		reader.Read(append(line, "}\n"...))
		if string(fields["error"]) == "null" {
			delete(fields, "error")
		}
		if got.Hidden {
			got.Code = hidden
		}
		if want, code := modelOutcome(verdicts, fields, path, ""); got.Outcome != want || got.Code != code {
			t.Fatalf("%s of %s: %v %s, want %v %s", fields, path, got.Outcome, got.Code, want, code)
		}
		return got.Outcome == outcome.Allowed
	})
}
