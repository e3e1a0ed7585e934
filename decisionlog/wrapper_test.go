// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/race"
)

// wrapAnywhere returns a value that holds an event somewhere, as an object or
// in a string, within the limits of wrappers. Most often the event is nowhere
// in a member that holds arbitrary data.
func wrapAnywhere(r *rand.Rand, event string) (text string, hidden bool) {
	excluded := []string{"input", "result", "custom", "nd_builtin_cache", "resp_body", "mapped_result", "request_context"}
	around := []string{`"path":"/x"`, `"labels":{"app":"x"}`, `"a":[1,{"b":null}]`, `"time":"2026-01-02T03:04:05Z"`, `"n":[123,34]`, `"text":"{\"a\":1}"`, `"metrics":{}`}
	text, levels, decodings := event, 1+r.IntN(maxLevels), r.IntN(maxDecodings+1)
	for levels > 0 {
		key := fmt.Sprintf("key%d", r.IntN(9))
		switch {
		case r.IntN(20) == 0:
			key, hidden = excluded[r.IntN(len(excluded))], true
			fallthrough
		case r.IntN(3) > 0 || levels == 1: // the outermost is an object, since an array's elements are values of their own
			members := []string{`"` + key + `":` + text}
			for range r.IntN(3) {
				members = append(members, around[r.IntN(len(around))])
			}
			r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
			text = "{" + strings.Join(slices.Compact(members), ",") + "}"
		default:
			text = "[" + strings.Repeat(`{"a":1},`, r.IntN(3)) + text + "]"
		}
		if levels--; levels > 0 && decodings > 0 && text[0] == '{' && r.IntN(3) == 0 {
			text = quoted(text + "\n"[r.IntN(2):])
			decodings--
		}
	}
	return text, hidden
}

// An event counts once, wherever it is, except in a member that holds arbitrary
// data. What is there before and behind it makes no difference.
func TestWrappedAnywhere(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 32))
	seen := 0
	for range 300 {
		var lines []string
		want := 0
		for n := range 10 {
			line, hidden := wrapAnywhere(r, numberedEvent(r, n))
			lines = append(lines, line+"\n")
			if !hidden {
				want++
			}
			if got := readAll(line); len(got.Events) != map[bool]int{false: 1}[hidden] {
				t.Fatalf("%d events in %s\n%q", len(got.Events), line, got.Problems)
			}
		}
		ids := func() (ids []string) {
			for _, e := range readAll(strings.Join(lines, "")).Events {
				ids = append(ids, e.ID)
			}
			slices.Sort(ids)
			return ids
		}
		before := ids()
		if seen += want; len(before) != want {
			t.Fatalf("%d events, want %d, in\n%s", len(before), want, strings.Join(lines, ""))
		}
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if got := ids(); !slices.Equal(got, before) {
			t.Fatalf("shuffled: %q, want %q, of\n%s", got, before, strings.Join(lines, ""))
		}
	}
	if seen < 2000 {
		t.Errorf("only %d events", seen)
	}
}

// An event deeper than the limits does not count.
func TestWrappedTooDeep(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ levels, decodings, want int }{
		{maxLevels, 0, 1}, {maxLevels + 1, 0, 0}, {maxDecodings, maxDecodings, 1}, {maxDecodings + 1, maxDecodings + 1, 0},
	} {
		text := event1
		for i := range test.levels {
			if i < test.decodings {
				text = quoted(text)
			}
			text = `{"log":` + text + `}`
		}
		if got := readAll(text); len(got.Events) != test.want {
			t.Errorf("%+v: %d events", test, len(got.Events))
		}
	}
}

// The tail of an event yields nothing, whatever is in the event.
func TestTail(t *testing.T) {
	t.Parallel()
	for _, event := range []string{event1, console(event1), event2, `{"log":` + quoted(strings.Replace(event1, `"d1"`, `"no"`, 1)) + `,"input":` + hostile + `,"decision_id":"d","path":"p"}`} {
		for i := 1; i < len(event); i++ {
			if got := readAll(event[i:] + "\n" + event4 + "\n"); len(got.Events) != 1 || got.Events[0].ID != "d4" {
				t.Fatalf("%q\n%+v", event[i:], got.Events)
			}
		}
	}
}

// Events of one wrapper are the same if their ids are, or else their paths,
// times and metrics. Elements of an array are different events.
func TestSameEvent(t *testing.T) {
	t.Parallel()
	noID := strings.Replace(event1, `"decision_id":"d1",`, "", 1)
	for text, want := range map[string]int{
		`{"a":` + event1 + `,"b":` + quoted(event1) + `}`:                      1,
		`{"a":` + event1 + `,"b":` + event2 + `}`:                              2,
		`{"a":` + noID + `,"b":` + quoted(noID) + `}`:                          1,
		`{"a":` + noID + `,"b":` + strings.Replace(noID, "1200", "7", 1) + `}`: 2,
		`{"a":[` + event1 + `,` + event1 + `]}`:                                2,
		`{"log":"x","log":` + quoted(event1) + `}`:                             1,
		`{"log":` + quoted(event2) + `,"log":` + quoted(event1) + `}`:          2,
	} {
		if got := readAll(strings.Repeat(text+"\n", 3)); len(got.Events) != 3*want {
			t.Errorf("%d events, want 3 times %d, of %s", len(got.Events), want, text)
		}
	}
}

// A document that is longer than an event may be is read value by value.
func TestLongDocument(t *testing.T) {
	if testing.Short() || race.Enabled || bits.UintSize == 32 {
		t.Skip("reads hundreds of megabytes")
	}
	const count = 9000
	for _, name := range []string{"Elasticsearch, search", "Loki, API", "CloudWatch", "CloudWatch, pretty"} {
		text := formats()[name]
		event := quoted(strings.Replace(event1, "{", `{"custom":"`+strings.Repeat("x", 8<<10)+`",`, 1))
		at := strings.Index(text, quoted(event1))
		start := strings.LastIndexAny(text[:at], "[{")
		for name == "Elasticsearch, search" && !strings.HasPrefix(text[start:], `{"_index`) {
			start = strings.LastIndexByte(text[:start], '{')
		}
		end := at + strings.IndexByte(text[at+len(quoted(event1)):], "]}"[strings.IndexByte("[{", text[start])]) + len(quoted(event1)) + 1
		if name == "Elasticsearch, search" {
			end++
		}
		element := strings.Replace(text[start:end], quoted(event1), event, 1)
		long := text[:start] + strings.Repeat(element+",", count) + text[start:]
		var found, most int
		r := NewReader(Options{Metric: func([]byte) int32 { return -1 }, Event: func(*Event) { found++ }, Problem: func(p Problem, line int64) { t.Errorf("%s: %s at %d", name, p, line) }})
		var rest []byte
		for len(long) > 0 {
			n := min(len(long), 16<<20)
			rest, long = append(rest, long[:n]...), long[n:]
			rest = append(rest[:0], rest[r.Read(rest):]...)
			most = max(most, len(rest))
		}
		r.Close(rest)
		if found != count+len(events) || most > MaxLength {
			t.Errorf("%s: %d events, want %d; %d bytes were asked for again", name, found, count+len(events), most)
		}
	}
}

// A line that begins very many streams takes neither much time nor much memory.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	var line strings.Builder
	line.WriteString(`{"pod":"x"`)
	const members = 20_000
	for i := range members {
		fmt.Fprintf(&line, `,"key%d":"{\"a\":"`, i)
	}
	line.WriteString("}\n")
	got := readAll(line.String() + event1 + "\n")
	if len(got.Events) != 1 || len(got.Problems) != members {
		t.Errorf("%d events, %d problems", len(got.Events), len(got.Problems))
	}
}
