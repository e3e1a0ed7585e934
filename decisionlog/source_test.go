// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

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
	for _, metric := range []string{`"timer_b_ns":-1`, `"timer_c_ns":"x"`, `"timer_a_ns":7`, `"counter_d":5`, `"timer_%d_ns":6`} {
		if r.IntN(4) == 0 {
			b.WriteByte(',')
			b.WriteString(strings.ReplaceAll(metric, "%d", fmt.Sprint(n)))
		}
	}
	b.WriteString("}}")
	return b.String()
}

// An event says what it says by itself, whatever waits for more where it comes.
// What waits began before it, and so comes first.
func TestEventsBehindUnfinished(t *testing.T) {
	t.Parallel()
	inCRI := func(tag string) func(string) string {
		return func(text string) string { return "2026-01-02T03:04:05.6Z " + tag + " " + text }
	}
	inDocker := func(stream string) func(string) string {
		return func(text string) string { return `{"log":` + quoted(text) + `,"stream":"` + stream + `"}` }
	}
	inMessage := func(text string) string { return `{"message":` + quoted(text) + `}` }
	inEvent := func(text string) string { return `{"event":` + text + `}` }
	nested := func(outer, inner func(string) string) func(string) string {
		return func(text string) string { return outer(inner(text)) }
	}
	// What waits, of streams of which nothing else is whole; and what does not.
	waits := func(stream string) []func(string) string {
		part, docker := inCRI(stream+" P"), inDocker(stream+" of docker")
		return []func(string) string{
			part, docker, nested(inMessage, part), nested(inMessage, docker), nested(inEvent, docker),
			nested(inCRI("stdout F"), docker), nested(inCRI("stdout F"), nested(inEvent, docker)), nested(docker, part),
		}
	}
	unfinished, cut := waits("stderr"), waits("stdout")[1:]
	plain := []func(string) string{
		func(text string) string { return text },
		func(text string) string { return "[" + text + "]" },
		prefixed(" \t"), pretty,
	}
	wrapped := []func(string) string{
		inEvent, inMessage, inCRI("stdout F"), nested(inEvent, inMessage),
		func(text string) string { return inDocker("other")(text + "\n") },
	}
	r := rand.New(rand.NewPCG(21, 22))
	oneOf := func(wraps []func(string) string) func(string) string { return wraps[r.IntN(len(wraps))] }
	behind := 0
	for range 3000 {
		var text strings.Builder
		want := map[string]result{} // by ID: what each event says by itself
		isPlain := map[string]bool{}
		waiting := 0
		for n := range 2 + r.IntN(6) {
			event := numberedEvent(r, n)
			if r.IntN(2) == 0 {
				event = console(event)
			}
			id := fmt.Sprint("d", n)
			kind := r.IntN(4)
			if kind > 0 {
				want[id] = readAll(event)
			}
			switch kind {
			case 0:
				event = oneOf(cut)(event[:1+r.IntN(len(event)-2)])
				waiting++
			case 1:
				event = oneOf(unfinished)(event)
				waiting++
			case 2:
				event = oneOf(wrapped)(event)
			case 3:
				event = oneOf(plain)(event)
				isPlain[id] = true
				behind += min(1, waiting)
				waiting = 0
			}
			text.WriteString(event + "\n")
		}
		var c collector
		o := c.options()
		keep := o.Event
		o.Event = func(e *Event) {
			keep(e)
			id := string(e.DecisionID)
			alone := want[id]
			c.Events[0].Line = 1
			for i, p := range c.Problems {
				kind, _, _ := strings.Cut(p, " at ")
				c.Problems[i] = kind + " at 1"
			}
			c.Problems = slices.DeleteFunc(c.Problems, func(p string) bool { return p == "truncated at 1" || p == "invalid_json at 1" })
			slices.Sort(c.Problems)
			if !reflect.DeepEqual(c.Events, alone.Events) || !slices.Equal(c.Problems, alone.Problems) {
				t.Fatalf("%s\ngot  %+v\nwant %+v", &text, c.result, alone)
			}
			delete(want, id)
			for other := range want {
				if isPlain[id] && other < id {
					t.Fatalf("%s\n%s comes behind %s", &text, other, id)
				}
			}
			c.result = result{}
		}
		NewReader(o).Close([]byte(text.String()))
		if len(want) > 0 {
			t.Fatalf("%s\nwithout %v", &text, want)
		}
	}
	if behind < 1000 {
		t.Errorf("only %d events come behind what waits", behind)
	}
}
