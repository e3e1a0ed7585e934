// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/compare"
	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// users has decisions of two paths. In each, one user in ten is called mallory.
func users(n int) string {
	var log strings.Builder
	for i := range n {
		user := "alice"
		if i%10 == 0 {
			user = "mallory"
		}
		log.WriteString(event(2*i, "p/allow", fmt.Sprintf(`"input":{"user":%q,"n":%d},"result":true`, user, i)))
		log.WriteString(event(2*i+1, "p/name", fmt.Sprintf(`"input":{"user":%q},"result":%[1]q`, user)))
	}
	return log.String()
}

const usual = "package p\ndefault allow := false\nallow if count(input.user) > 0\nname := input.user\n"

// A planted change is found with exactly its decisions, and thresholds are
// exceeded by it. A slow rule is found to be slower.
func TestAgainst(t *testing.T) {
	t.Parallel()
	before := loaded(lay(t, "p.rego", usual))
	after := loaded(lay(t, "p.rego", strings.Replace(usual, "allow if count", "allow if {\n\tinput.user != \"mallory\"\n\tsum(numbers.range(1, 3000)) > 0\n}\nunused if count", 1)))
	limits := thresholds("changed>59", "changed>60", "allowed-to-denied>9%", "denied-to-allowed>0", "p50:rego_query_eval>+20%")
	r := replayed(t, users(600), Options{Policy: after, Against: before, Thresholds: limits, Inputs: true})
	if got, want := fmt.Sprint(results(r)), "[p/allow: 540 of 600 equal, 60 allowed-to-denied p/name: 600 of 600 equal]"; got != want || !r.All {
		t.Errorf("got %s, want %s", got, want)
	}
	if x := r.Paths[0].Examples[toDenied]; len(x) != 10 || !strings.Contains(x[0].Input, "mallory") {
		t.Errorf("the examples are %+v", x)
	}
	var failed []string
	for _, c := range r.Checks(nil) {
		if c.Failed {
			failed = append(failed, c.Name)
		}
	}
	if got, want := strings.Join(failed, " "), "changed>59 p50:rego_query_eval>+20%"; got != want {
		t.Errorf("exceeded are %s, want %s", got, want)
	}
	if r.Times.Decisions != nil || r.Times.Intervals != 2 { // a median for each path
		t.Errorf("%d intervals, and outcomes %+v", r.Times.Intervals, r.Times.Decisions)
	}
	if got := r.Times.Stages[0]; got.Key != "p/allow" || got.Verdict != compare.Slower {
		t.Errorf("%+v", r.Times.Stages)
	}
	var table, markdown, all, github, junit bytes.Buffer
	noError(output.Write(&table, r, output.Options{Width: 110, Top: 5}), output.Write(&markdown, r, output.Options{Format: "markdown", Top: 5}), r.WriteJSON(&all),
		output.WriteGitHub(&github, r.Checks(nil)), output.WriteJUnit(&junit, "replay", r.Checks(nil)))
	for _, part := range []string{"1,140 equal, 60 changed", "rego_query_eval", "p50", "data.p.unused", "sum(numbers.range(1, 3000)) > 0", "allowed-to-denied"} {
		if !strings.Contains(table.String(), part) || !strings.Contains(markdown.String(), part) {
			t.Errorf("the table or the Markdown lacks %s:\n%s\n%s", part, table.String(), markdown.String())
		}
	}
	// A stage keeps its rows, and each table says how many rows it leaves out.
	var short bytes.Buffer
	noError(output.Write(&short, r, output.Options{Width: 110, Top: 1}))
	if s := short.String(); !strings.Contains(s, "  rego_query_eval  p99 ") || !strings.Contains(s, "1 more: see `--top`.\n\nExamples") || !strings.Contains(s, "1 more: see `--top`.\n\nRules") {
		t.Errorf("the first rows are\n%s", s)
	}
	for line := range strings.Lines(table.String()) {
		if text.Width(strings.TrimSpace(line)) > 110 {
			t.Errorf("a line is too wide: %s", line)
		}
	}
	var x struct {
		Decisions, Equal, Changed, Apart int
		Paths                            []struct {
			Path           string
			Not_repeatable int
		}
		Times struct{ Stages []any }
	}
	if noError(json.Unmarshal(all.Bytes(), &x)); x.Decisions != 1200 || x.Equal != 1140 || x.Changed != 60 || x.Paths[1].Path != "p/name" {
		t.Errorf("the JSON has %+v", x)
	}
	if strings.Count(github.String(), "::notice title=regometer changed::p/allow: 60 allowed-to-denied, such as decision ") != 1 || !strings.Contains(github.String(), "::error") || !strings.Contains(junit.String(), "<failure") {
		t.Errorf("annotations %s, JUnit %s", github.String(), junit.String())
	}
}

// Equal policies have equal results, and neither is slower.
func TestEqualPolicies(t *testing.T) {
	t.Parallel()
	p, q := loaded(lay(t, "p.rego", usual)), loaded(lay(t, "p.rego", usual))
	log := users(300)
	for range 5 {
		r := replayed(t, log, Options{Policy: p, Against: q})
		for _, row := range r.Times.Stages {
			if row.Verdict == compare.Slower {
				t.Errorf("%+v", row)
			}
		}
		if r.Equal != r.Decisions {
			t.Errorf("%d of %d decisions are equal", r.Equal, r.Decisions)
		}
	}
}

// Between policies, only what both lack makes a decision impossible to compare.
func TestReasonsAgainst(t *testing.T) {
	t.Parallel()
	before := loaded(lay(t, "p.rego", "package p\nid := uuid.rfc4122(\"a\")\nnow := time.now_ns()\nfails := 1\ngone := input.x\nboth := 1 if data.p.fails\nsame := to_number(input.x)\ntoken := io.jwt.decode_verify(input.x, {\"secret\": \"x\"})\nasks if http.send({\"method\": \"GET\", \"url\": \"http://127.0.0.1:1\"}).body"))
	after := loaded(lay(t, "p.rego", "package p\nid := uuid.rfc4122(\"b\")\nnow := time.now_ns() + 1\nfails := input.list[_]\nboth := input.list[_]\nsame := to_number(input.x)\ntoken := io.jwt.decode_verify(input.x, {\"secret\": \"x\"})\nasks if not http.send({\"method\": \"GET\", \"url\": \"http://127.0.0.1:1\"}).body"))
	const input = `"input":{"list":[1,2]},`
	for _, c := range []struct{ path, rest, want string }{
		{"p/id", input + `"result":"x"`, "0 of 1 equal, 1 uuid.rfc4122 without a logged answer"},
		{"p/now", input + `"result":1`, "0 of 1 equal, 1 other"},
		{"p/fails", input + `"result":1`, "0 of 1 equal, 1 other"},
		{"p/gone", `"input":{"x":1},"result":1`, "0 of 1 equal, 1 other"},
		{"p/gone", `"input":{"x":1},"result":1,"erased":["/input/y"]`, "0 of 1 equal, 1 a masked input"},
		{"p/same", `"input":{"x":"y"}`, "1 of 1 equal"},
		{"p/token", `"input":{"x":"y"}`, "1 of 1 equal"},
		{"p/asks", input + `"result":true`, "0 of 1 equal, 1 http.send without a logged answer"},
	} {
		if got := results(replayed(t, event(1, c.path, c.rest), Options{Policy: after, Against: before})); got[0] != c.path+": "+c.want {
			t.Errorf("%s %s: got %s, want %s", c.path, c.rest, got, c.want)
		}
	}
}

// A threshold cannot be judged with a part of a log, or with nothing.
func TestPartOfALog(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", usual))
	limit := thresholds("changed>0")
	cut := event(0, "p/allow", `"input":{"user":"x"}`)
	r := replayed(t, users(50)+strings.Repeat(cut[:len(cut)-10]+"\n", 5), Options{Policy: p, Thresholds: limit})
	if checks := r.Checks(nil); !r.Partly || len(checks) != 3 || checks[0].Failed || checks[1].Name != "partly_read" || !checks[1].Failed {
		t.Errorf("partly read: %v; checks: %+v", r.Partly, checks)
	}
	if checks := (&Report{options: Options{Thresholds: limit}}).Checks(nil); !checks[0].Failed {
		t.Errorf("no decision, but %+v", checks[0])
	}
}

func thresholds(texts ...string) (all Thresholds) {
	for _, s := range texts {
		noError(all.Add(s))
	}
	return all
}

func TestThresholdsAdd(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "changed", "changed>", "changed>x", "changed>1.2.3", "equal>1", "changed<1", "changed@p/allow>1", "p99:server_handler>+20%", "p99>1", "denied>+5pp"} {
		if new(Thresholds).Add(s) == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

// A decision of another revision than the policy's is counted.
func TestRevisions(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, ".manifest", `{"revision": "r2"}`, "p.rego", usual))
	var log strings.Builder
	for i, of := range []string{`"bundles":{"b":{"revision":"r1"}}`, `"bundles":{"b":{"revision":"r2"}}`, `"revision":"r1"`, `"revision":"r2"`, `"x":1`} {
		log.WriteString(event(i, "p/allow", of+`,"input":{"user":"x"},"result":true`))
	}
	if r := replayed(t, log.String(), Options{Policy: p}); r.OtherRevision != 2 || r.Equal != 5 {
		t.Errorf("%d decisions are of another revision, %d are equal", r.OtherRevision, r.Equal)
	}
}
