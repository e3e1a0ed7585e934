// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

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
	var c collector
	for _, part := range []string{text[:at], text[at:]} {
		r := NewReader(c.options())
		r.Close([]byte(part))
		c.end(r)
	}
	return c.result
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

func TestBoundary(t *testing.T) {
	t.Parallel()
	lines := events.ndjson()
	wrapped := strings.Repeat(eachLine(lines, docker), patience)
	blanks := strings.ReplaceAll(strings.Repeat(event3+"\n", 2), "T03:04:07Z", " 03:04:07")
	for text, want := range map[string]int{lines: len(lines), lines + event1[:100]: len(lines), wrapped + "\nplain": len(wrapped), blanks: len(blanks), lines + " " + event1 + "\n": len(lines)} {
		if at := checkBoundary(t, text); at != want {
			t.Errorf("%d of %d, want %d", at, len(text), want)
		}
	}
	long := `{"decision_id":"d","input":"` + strings.Repeat("x", usualLength) + "\"}\n" // no reader looks into it
	if at := Boundary([]byte(long + long)); at != 0 {
		t.Errorf("%d of lines that are too long", at)
	}
	// stderr waits, although one of its lines is whole.
	of := func(stream, line string) string { return strings.Replace(docker(line), "stderr", stream, 1) }
	whole := `{"decision_id":"d","path":"p","metrics":{}}` + "\n"
	for lines := range 3 { // of a run behind
		checkBoundary(t, of("stderr", "{\"a\":[\n")+strings.Repeat(of("stdout", whole), patience-4)+of("stderr", whole)+
			strings.Repeat(of("stdout", whole), 6)+of("stderr", "]}\n")+strings.Repeat(of("stdout", whole), lines))
	}
}

// Texts are put together of pieces that leave a reader in all kinds of states.
func TestBoundaryProperty(t *testing.T) {
	t.Parallel()
	short := `{"decision_id":"d","path":"p","metrics":{}}`
	pieces := []string{
		short + "\n", short + "\n", short + "\n" + short + "\n", " " + short + "\n", short, "[\n", "]\n", ",\n", "{\n", "}\n", "{\"a\":[\n", "{\"a\":\n", "{\"a\"", "\n", "x\n",
		"[INFO] Decision Log\n", "  path = \"p\"\n  decision_id = \"x\"\n", "2026-01-02T03:04:05Z stdout P {\n", "2026-01-02T03:04:05Z stdout F {\n",
		"opa | {\n", "opa | " + short + "\n", `{"log":"{\"decision_id\":","stream":"stderr"}` + "\n", `{"log":"\"d\"}\n","stream":"stderr"}` + "\n",
		`{"log":` + quoted(short+"\n") + `,"stream":"stderr"}` + "\n", `{"log":` + quoted(short+"\n") + `,"stream":"stdout"}` + "\n",
		strings.Repeat(`{"log":`+quoted(short+"\n")+`,"stream":"stderr"}`+"\n", patience+1),
		strings.Repeat(`{"log":`+quoted(short+"\n")+`,"stream":"stdout"}`+"\n", patience),
		`{"log":"{\n","stream":"stdout"}` + "\n", `{"log":"[\n","stream":"stderr"}` + "\n", strings.Repeat("x\n", patience),
		"x,\"{\n", "\"\"decision_id\"\":\"\"d\"\",\n", "\"\"path\"\":1}\"\n", "opa | x,\"{\n", `{"event":` + short + "}\n", "[" + short + "\n," + short + "\n", `{"a":1}` + "\n", "[\n", short + ",\n" + short + ",\n", "," + short + "\n," + short + "\n", "{\"a\" 1\n",
		"{\n  \"event\": [\n", "  ]\n}\n", "[INFO] x\n", "    \"a\",\n",
	}
	for _, line := range []string{short + ",", "," + short, " " + short, `{"event":` + short + "}", `{"event":` + short + "},", ` {"event":` + short + "}", "[" + short + "]"} {
		pieces = append(pieces, strings.Repeat(line+"\n", patience+2), strings.Repeat(docker(line+"\n"), patience+2), strings.Repeat("opa | "+line+"\n", patience+2))
	}
	rolls(t, 5_000, 500, func(r *rand.Rand) bool {
		text := ""
		for range 1 + r.IntN(8) {
			text += oneOf(r, pieces...)
		}
		return checkBoundary(t, text) > 0
	})
}
