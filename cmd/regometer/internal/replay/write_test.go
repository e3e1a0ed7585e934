// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
)

// A short writer has room for some bytes.
type short struct{ room int }

func (s *short) Write(p []byte) (int, error) {
	n := min(len(p), s.room)
	if s.room -= n; n < len(p) {
		return n, errors.New("there is no room")
	}
	return n, nil
}

// An output that loses its last byte is an error.
func TestOutputsCut(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", usual))
	r := replayed(t, users(20), Options{Policy: p, Against: p})
	for name, write := range map[string]func(io.Writer) error{"pprof": r.Profile.WritePprof, "page": r.WriteHTML, "JSON": r.WriteJSON} {
		var whole bytes.Buffer
		noError(write(&whole))
		if write(&short{whole.Len() - 1}) == nil {
			t.Errorf("%s: no error without the last byte", name)
		}
		noError(write(&short{whole.Len()}))
	}
}

// A page has the flames, the decisions that changed and the source, with the
// times of its lines, and shows a text of the log as text.
func TestPage(t *testing.T) {
	t.Parallel()
	before, after := loaded(lay(t, "p.rego", usual)), loaded(lay(t, "p.rego", slow()+"far if {\n\tinput.n == 1\n}\n"))
	log := event(1, "p/main", `"input":{"n":8},"result":true`) + event(2, "p/<b>x</b>", `"input":{"n":8},"result":true`)
	var b bytes.Buffer
	noError(replayed(t, log, Options{Policy: after, Against: before, Inputs: true}).WriteHTML(&b))
	x := b.String()
	for _, part := range []string{
		`<title>p.rule17: `, `<g class="h-5">`, "# slow</code>", "<td>never</td>", "Rules by their own time", "&lt;b&gt;x&lt;/", "{&#34;n&#34;:8}",
	} {
		if !strings.Contains(x, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	if strings.Contains(x, "<b>x</b>") || strings.Contains(x, "style=") || strings.Contains(x, "<script") {
		t.Error("the page has markup of the log, or what its policy forbids")
	}
}

// No control character of a log or a policy reaches a terminal or Markdown. What
// kept decisions from a comparison is one paragraph.
func TestTexts(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", "package p\nallow if input.x # \x1b[2J|`\nid := uuid.rfc4122(input.x)"))
	log := event(1, `p/\x1b[2J`, `"input":{"x":"\u009b1m|"},"result":1`) + event(2, "p/allow", `"input":{"x":1},"result":false`) + event(3, "p/id", `"input":{"x":"y"},"result":1`)
	r := replayed(t, strings.ReplaceAll(log, `\\x1b`, `\u001b`), Options{Policy: p, Inputs: true})
	for _, format := range []string{"table", "markdown"} {
		var b bytes.Buffer
		noError(output.Write(&b, r, output.Options{Format: format, Width: 200}))
		if strings.ContainsAny(b.String(), "\x1b\u009b") || !strings.Contains(b.String(), "[2J") {
			t.Errorf("%q", b.String())
		}
		if !strings.Contains(b.String(), "denied-to-allowed (1)") || !strings.Contains(b.String(), "Not compared: a path that the policy lacks (1), uuid.rfc4122 without a logged answer (1).") || strings.Contains(b.String(), "times as long") {
			t.Error(b.String())
		}
	}
}

// Decisions that changed come before those that could not be compared, with at
// most three of a kind and path.
func TestDifferences(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", "package p\nallow := input.x > 1\nid := uuid.rfc4122(input.x)"))
	var log strings.Builder
	for i := range 5 {
		log.WriteString(event(i, "p/id", `"input":{"x":"y"},"result":1`))
		log.WriteString(event(10+i, "p/id", `"result":1`))
		log.WriteString(event(20+i, "p/allow", `"input":{"x":1},"result":true`))
	}
	log.WriteString(event(30, "p/allow", `"input":{"x":2},"result":false`))
	kinds := ""
	table, examples := replayed(t, log.String(), Options{Policy: p}).differences()
	for i, row := range table.Rows {
		if kinds += row[3] + "\n"; row[1] != examples[i].ID {
			t.Errorf("row %v has example %+v", row, examples[i])
		}
	}
	if want := strings.Repeat("allowed-to-denied\n", 3) + "denied-to-allowed\n" + strings.Repeat("no input in the log\n", 3) + strings.Repeat("uuid.rfc4122 without a logged answer\n", 3); kinds != want {
		t.Errorf("got\n%s\nwant\n%s", kinds, want)
	}
}

// Rules are said to be unreached by the replay, not by the server.
func TestUnreachedText(t *testing.T) {
	for _, c := range []struct {
		notRepeatable uint64
		unreached     []Source
		want          bool
	}{{1, []Source{{}}, true}, {0, []Source{{}}, false}, {1, nil, false}} {
		r := &Report{Results: Results{Decisions: 1, NotRepeatable: c.notRepeatable}, Profile: &Profile{Unreached: c.unreached}}
		if got := strings.Contains(strings.Join(r.summary(), "\n"), "the server's may have reached more"); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// What was not evaluated has no times, and no rule is said to be unreached by it.
func TestNothingEvaluated(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", usual))
	for log, want := range map[string]string{
		"": "Nothing was replayed, because the log has no decisions that can be read and that the flags select.\n",
		event(1, "gone/allow", `"input":{},"result":true,"metrics":{"timer_rego_query_eval_ns":7000}`): "gone/allow          1      0        0      0               1       –           –    –           –",
	} {
		r := replayed(t, log, Options{Policy: p})
		var b bytes.Buffer
		noError(output.Write(&b, r, output.Options{Width: 200}))
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "reached") {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
		noError(r.WriteJSON(&b)) // which has no numbers for nothing
	}
}

// Only evaluations that evaluate something tell how long the tracer takes.
func TestTracerTime(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", "package p\nallow if input.x"))
	for n, says := range map[int]bool{199: false, 200: true} {
		var log strings.Builder
		for i := range 500 {
			path := "p/allow"
			if i >= n {
				path = "other/allow"
			}
			log.WriteString(event(i, path, `"input":{"x":true},"result":true`))
		}
		r := replayed(t, log.String(), Options{Policy: p})
		for _, tracer := range []float64{0.9, 1.5} {
			r.Profile.Tracer = tracer
			var b bytes.Buffer
			noError(output.Write(&b, r, output.Options{Width: 200}))
			if strings.Contains(b.String(), "1.50 times as long") != (says && tracer > 1) || strings.Contains(b.String(), "0.90 times") {
				t.Errorf("%d decisions of a path of the policy: %s", n, b.String())
			}
		}
	}
}
