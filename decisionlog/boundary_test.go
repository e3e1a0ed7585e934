// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// cut reads a text by two readers, before and behind a boundary. Lines of the
// second are counted on.
func cut(text string, at int) result {
	first, second := readAll(text[:at]), readAll(text[at:])
	for i := range second.Events {
		second.Events[i].Line += first.Lines
	}
	first.Events = append(first.Events, second.Events...)
	first.Problems = nil
	for part, start := range map[string]int64{text[:at]: 0, text[at:]: first.Lines} {
		var c collector
		o := c.options()
		report := o.Problem
		o.Problem = func(kind Problem, line int64) { report(kind, line+start) }
		r := NewReader(o)
		r.Close([]byte(part))
		first.Problems = append(first.Problems, c.Problems...)
	}
	slices.Sort(first.Problems)
	first.Lines += second.Lines
	first.Other += second.Other
	return first
}

func checkBoundary(t *testing.T, text string) (at int) {
	t.Helper()
	at = Boundary([]byte(text))
	if at < 0 || at > len(text) || at > 0 && text[at-1] != '\n' {
		t.Fatalf("boundary %d of %q", at, text)
	}
	if at == 0 {
		return 0
	}
	want, got := readAll(text), cut(text, at)
	byLine := func(a, b read) int { return int(a.Line - b.Line) }
	slices.SortStableFunc(want.Events, byLine)
	slices.SortStableFunc(got.Events, byLine)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("cut at %d of %q:\n%+v\nwant\n%+v", at, text, got, want)
	}
	return at
}

// A reader does not look into lines that are too long.
func TestBoundaryTooLong(t *testing.T) {
	t.Parallel()
	line := `{"decision_id":"d","input":"` + strings.Repeat("x", MaxLength) + "\"}\n"
	if at := Boundary([]byte(line + line)); at != 0 {
		t.Errorf("%d of %d", at, 2*len(line))
	}
}

func TestBoundary(t *testing.T) {
	t.Parallel()
	lines := ndjson()
	if at := checkBoundary(t, lines); at != len(lines) {
		t.Errorf("%d of %d", at, len(lines))
	}
	if at := checkBoundary(t, lines+event1[:100]); at != len(lines) {
		t.Errorf("with half a line: %d of %d", at, len(lines))
	}
	wrapped := strings.Repeat(eachLine(lines, func(l string) string {
		return `{"log":` + quoted(l) + `,"stream":"stderr","time":"x"}` + "\n"
	}), patience)
	if at := checkBoundary(t, wrapped+"\nplain"); at != len(wrapped) {
		t.Errorf("docker: %d of %d", at, len(wrapped))
	}
	// stderr waits, although one of its lines is whole.
	of := func(stream, line string) string {
		return `{"log":` + quoted(line) + `,"stream":"` + stream + `"}` + "\n"
	}
	whole := `{"decision_id":"d","metrics":{}}` + "\n"
	checkBoundary(t, of("stderr", "{\"a\":[\n")+strings.Repeat(of("stdout", whole), patience-4)+of("stderr", whole)+
		strings.Repeat(of("stdout", whole), 6)+of("stderr", "]}\n"))
	for name, text := range containers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkBoundary(t, text)
			checkBoundary(t, text+"\n"+strings.Repeat(text, 3))
		})
	}
}

// Texts are put together of pieces that leave a reader in all kinds of states.
func TestBoundaryProperty(t *testing.T) {
	t.Parallel()
	short := `{"decision_id":"d","metrics":{}}`
	pieces := []string{
		short + "\n", short + "\n", short + "\n" + short + "\n", " " + short + "\n", short, "[\n", "]\n", ",\n", "{\n", "}\n", "{\"a\":[\n", "{\"a\":\n", "{\"a\"", "\n", "x\n",
		"[INFO] Decision Log\n", "  path = \"p\"\n  decision_id = \"x\"\n", "2026-01-02T03:04:05Z stdout P {\n", "2026-01-02T03:04:05Z stdout F {\n",
		"opa | {\n", "opa | " + short + "\n", `{"log":"{\"decision_id\":","stream":"stderr"}` + "\n", `{"log":"\"d\"}\n","stream":"stderr"}` + "\n",
		`{"log":` + quoted(short+"\n") + `,"stream":"stderr"}` + "\n", `{"log":` + quoted(short+"\n") + `,"stream":"stdout"}` + "\n",
		strings.Repeat(`{"log":`+quoted(short+"\n")+`,"stream":"stderr"}`+"\n", patience+1),
		strings.Repeat(`{"log":`+quoted(short+"\n")+`,"stream":"stdout"}`+"\n", patience),
		`{"log":"{\n","stream":"stdout"}` + "\n", `{"log":"[\n","stream":"stderr"}` + "\n", strings.Repeat("x\n", patience),
		`{"event":` + short + "}\n", "[" + short + "\n," + short + "\n", `{"a":1}` + "\n",
	}
	r := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	for range 10_000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if checkBoundary(t, b.String()) > 0 {
			cuts++
		}
	}
	if cuts < 1000 {
		t.Errorf("only %d texts had a boundary", cuts)
	}
}
