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

// numberedEvent returns an event whose every field tells which one it is. Some
// have metrics that are wrong.
func numberedEvent(r *rand.Rand, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"labels":{"id":"%d"},"decision_id":"d%d","path":"p%d","result":{"allow":true,"n":%d},"requested_by":"r%d",`, n, n, n, n, n)
	fmt.Fprintf(&b, `"timestamp":"2026-01-02T03:%02d:05Z","metrics":{"timer_a_ns":%d`, n%60, 100+n)
	for _, metric := range []string{`"timer_b_ns":-1`, `"timer_c_ns":"x"`, `"timer_a_ns":7`, `"counter_d":5`, fmt.Sprintf(`"timer_%d_ns":6`, n)} {
		if r.IntN(4) == 0 {
			b.WriteString("," + metric)
		}
	}
	b.WriteString("}}")
	return b.String()
}

// An event says what it says by itself, whatever waits for more where it comes.
// What waits began before it, and so comes first.
func TestEventsBehindUnfinished(t *testing.T) {
	t.Parallel()
	type wrap = func(text string) string
	cri := func(tag string) wrap { return prefixed("2026-01-02T03:04:05.6Z " + tag + " ") }
	inDocker := func(stream string) wrap {
		return func(text string) string { return `{"log":` + quoted(text) + `,"stream":"` + stream + `"}` }
	}
	message := func(text string) string { return `{"message":` + quoted(text) + `}` }
	inEvent := func(text string) string { return `{"event":` + text + `}` }
	inArray := func(text string) string { return "[" + text + "]" }
	in := func(outer, inner wrap) wrap { return func(text string) string { return outer(inner(text)) } }
	// What waits, of streams of which nothing else is whole; and what does not.
	waits := func(stream string) []wrap {
		part, docker := cri(stream+" P"), inDocker(stream+" of docker")
		return []wrap{
			part, docker, in(message, part), in(message, docker), in(inEvent, docker),
			in(cri("stdout F"), docker), in(cri("stdout F"), in(inEvent, docker)), in(docker, part),
		}
	}
	wraps := [][]wrap{
		waits("stdout")[1:], waits("stderr"),
		{inEvent, message, cri("stdout F"), in(inEvent, message), func(text string) string { return inDocker("other")(text + "\n") }},
		{prefixed(""), inArray, prefixed(" \t"), pretty},
	}
	const cut, unfinished, plain = 0, 1, 3
	behind := 0
	rolls(t, 3000, 1000, func(r *rand.Rand) bool {
		var text string
		var problems []string
		want, isPlain, waiting := map[string]read{}, map[string]bool{}, false
		for n := range 2 + r.IntN(6) {
			event, kind, id := numberedEvent(r, n), r.IntN(len(wraps)), fmt.Sprint("d", n)
			if r.IntN(2) == 0 {
				event = console(event)
			}
			if kind == cut {
				event = event[:1+r.IntN(len(event)-2)]
			} else {
				alone := readAll(event)
				want[id], problems = alone.Events[0], append(problems, alone.Problems...)
			}
			if isPlain[id] = kind == plain; isPlain[id] && waiting {
				behind++
			}
			waiting = kind <= unfinished || waiting && kind != plain
			text += oneOf(r, wraps[kind]...)(event) + "\n"
		}
		got := readAll(text)
		got.Problems = slices.DeleteFunc(kinds(got.Problems), func(p string) bool { return p == "truncated" || p == "invalid_json" })
		if problems = kinds(problems); !slices.Equal(got.Problems, problems) || len(got.Events) != len(want) {
			t.Fatalf("%s\ngot  %d events, %q, want %d, %q", text, len(got.Events), got.Problems, len(want), problems)
		}
		for i, e := range got.Events {
			if e.Line = 1; !reflect.DeepEqual(e, want[e.ID]) {
				t.Fatalf("%s\ngot  %+v\nwant %+v", text, e, want[e.ID])
			}
			for _, later := range got.Events[i+1:] {
				if isPlain[e.ID] && later.ID < e.ID {
					t.Fatalf("%s\n%s comes behind %s", text, later.ID, e.ID)
				}
			}
		}
		return behind > 0
	})
}
