// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// wrapAnywhere returns a value that holds an event somewhere, as an object or
// in a string, within the limits of wrappers. Most often the event is nowhere
// in a member that holds arbitrary data.
func wrapAnywhere(r *rand.Rand, event string) (text string, hidden bool) {
	excluded := []string{"input", "result", "custom", "nd_builtin_cache", "resp_body", "mapped_result", "request_context"}
	around := []string{`"path":"/x"`, `"labels":{"app":"x"}`, `"a":[1,{"b":null}]`, `"time":"2026-01-02T03:04:05Z"`, `"n":[123,34]`, `"text":"{\"a\":1}"`, `"metrics":{}`}
	text, levels, decodings := event, 1+r.IntN(10), r.IntN(6)
	for levels > 0 {
		key := fmt.Sprintf("key%d", r.IntN(9))
		switch {
		case r.IntN(20) == 0:
			key, hidden = excluded[r.IntN(len(excluded))], true
			fallthrough
		case r.IntN(3) > 0:
			members := []string{`"` + key + `":` + text}
			for range r.IntN(3) {
				members = append(members, around[r.IntN(len(around))])
			}
			r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
			text = "{" + strings.Join(slices.Compact(members), ",") + "}"
		default:
			before := oneOf(r, `{"a":1},`, `["a"],`)
			if levels == 1 { // Elements of the outermost array are all objects, or none is.
				before = map[bool]string{false: `["a"],`, true: `{"a":1},`}[text[0] == '{']
			}
			text = "[" + strings.Repeat(before, r.IntN(3)) + text + "]"
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
	rolls(t, 300, 300, func(r *rand.Rand) bool {
		var lines, want []string
		for n := range 10 {
			line, hidden := wrapAnywhere(r, numberedEvent(r, n))
			lines = append(lines, line+"\n")
			if !hidden {
				want = append(want, fmt.Sprint("d", n))
			}
			if got := readAll(line); len(got.Events) != map[bool]int{false: 1}[hidden] {
				t.Fatalf("%d events in %s\n%q", len(got.Events), line, got.Problems)
			}
		}
		for range 2 {
			var ids []string
			for _, e := range readAll(strings.Join(lines, "")).Events {
				ids = append(ids, e.ID)
			}
			if slices.Sort(ids); !slices.Equal(ids, want) {
				t.Fatalf("%q, want %q, of\n%s", ids, want, strings.Join(lines, ""))
			}
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		}
		return len(want) > 0
	})
}

// An event deeper than the limits does not count, also where the same was read
// that is not as deep.
func TestWrappedTooDeep(t *testing.T) {
	t.Parallel()
	all, total := "", 0
	for _, test := range []struct{ levels, decodings, want int }{
		{int(maxNesting), 0, 1}, {int(maxNesting) + 1, 0, 0}, {10, 5, 1}, {11, 5, 0}, {6, 6, 1}, {7, 7, 0},
	} {
		text := event1
		for i := range test.levels {
			if i >= test.levels-test.decodings {
				text = quoted(text)
			}
			text = `{"log":` + text + `}`
		}
		all, total = all+text+"\n", total+test.want
		for text, want := range map[string]int{text: test.want, all: total} {
			if got := readAll(text); len(got.Events) != want {
				t.Errorf("%+v: %d events, want %d", test, len(got.Events), want)
			}
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
			} else if event[i] == '{' && !reflect.DeepEqual(readParts(event[i:]+"\n"+event4+"\n", func(int) int { return 1 }), got) {
				t.Fatalf("%q is something else byte by byte", event[i:])
			}
		}
	}
}

// A document that is longer than an event may be is read value by value, and
// once, up to arbitrary data, in which nothing is an event.
func TestLongDocument(t *testing.T) {
	t.Parallel()
	const count, maxLength, part = 200, 256 << 10, 64 << 10
	event := quoted(strings.Replace(event1, "{", `{"custom":"`+strings.Repeat("x", 8<<10)+`",`, 1))
	one := "[" + event1 + "]"
	for _, doc := range [][3]string{
		{`{"took":3,"hits":{"total":1,"hits":[`, `{"_index":"opa","_source":{"message":` + event + `,"@timestamp":"x"}}`, `]}}`},
		{`{"status":"success","data":{"resultType":"streams","result":[{"stream":{"app":"opa"},"values":[`, `["17",` + event + `]`, `]}],"stats":{}}}`},
		{`{"events":[`, `{"logStreamName":"s","message":` + event + `}`, `],"searchedLogStreams":[]}`},
		{"{\n  \"events\": [\n", "    {\n      \"message\": " + event + "\n    }", "\n  ]\n}"},
		{`{"took":3,"rows":[` + strings.Repeat("[1,2],", maxLength/6) + strings.Repeat(event1+",", count) + `1],"input":[`, `[` + event + `,{"a":` + one + `}]`, `],"b":` + one + `}`},
	} {
		long := doc[0] + strings.Repeat(doc[1]+",", count-2) + doc[1] + doc[2] + "\n" + event1 + "\n"
		found := 0
		problem := func(p Problem, line int64) {
			if p != TooLong || !strings.Contains(doc[0], "input") {
				t.Errorf("%.20s: %s at %d", doc[0], p, line)
			}
		}
		r := NewReader(Options{Metric: func([]byte) int32 { return -1 }, Event: func(*Event) { found++ }, Problem: problem, MaxLength: maxLength})
		var rest []byte
		for at := 0; at < len(long); at += part {
			rest = append(rest, long[at:min(at+part, len(long))]...)
			rest = append(rest[:0], rest[r.Read(rest):]...)
			if len(rest) > maxLength || at > maxLength && len(rest) > part/2 {
				t.Errorf("%.20s: %d bytes behind %d were asked for again", doc[0], len(rest), at)
			}
		}
		if r.Close(rest); found != count && found != count+1 {
			t.Errorf("%.20s: %d events, want %d", doc[0], found, count)
		}
	}
}
