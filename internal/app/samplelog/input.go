// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"encoding/json"
	"fmt"
)

const (
	minEventBytes = 400     // no event is shorter
	poolBytes     = 8 << 20 // limits the bytes of all inputs, unless 3 inputs need more
	maxInputs     = 256     // limits the number of inputs
)

// inputsOf returns the number of inputs, and their average size.
func inputsOf(o *Options) (n, size int) {
	const around = 500 // bytes of an event without its input
	size = max(o.EventBytes-around, 0)
	return min(max(poolBytes/max(size, 1), 3), maxInputs), size
}

// newInputs renders the inputs of all events. Long inputs have keys like those
// of an event, and text that looks like an event.
func newInputs(o *Options, l *layout) []string {
	s := newSource(o.Seed, 5)
	n, size := inputsOf(o)
	inputs := make([]string, n)
	for i := range inputs {
		inputs[i] = newInput(s, l, size*3/4+s.below(size/2+1))
	}
	return inputs
}

// newInput renders an input of about this size.
func newInput(s *source, l *layout, size int) string {
	input, left := map[string]any{}, size
	add := func(key string, value any) {
		input[key] = value
		left -= len(`"":,`) + len(key) + len(l.json(value))
	}
	add("user", pick(s, users))
	add("method", pick(s, methods))
	for _, more := range []struct {
		key   string
		value any
	}{
		{"path", []string{"finance", "salary", pick(s, users)}},
		{"decision_id", "none of this log"},
		{"query", "a=1&b=<2>"},
		{"note", eventText},
		{"metrics", map[string]any{"timer_rego_query_eval_ns": 1, "timer_server_handler_ns": -1}},
		{"labels", map[string]any{"id": "x", "team": "zürich"}},
		{"result", false},
		{"timestamp", "1999-12-31T23:59:59Z"},
		{"error", map[string]any{"code": "none"}},
		{"type", "openpolicyagent.org/decision_logs"},
		{"msg", "Sent response."},
	} {
		if left > 200 {
			add(more.key, more.value)
		}
	}
	// Most of a long input is a list of resources. A token fills the rest.
	var resources []json.RawMessage
	for used := 0; left-used > 200; {
		resources = append(resources, json.RawMessage(l.json(resourceOf(s))))
		used += len(resources[len(resources)-1]) + 1
		if left-used <= 200 {
			add("resources", resources)
		}
	}
	if fill := left - len(`"token":"",`); fill > 0 {
		add("token", token(s, fill))
	}
	return l.json(input)
}

// eventText looks like an event. Inputs have it as a string.
const eventText = "}\n" + `{"labels":{"id":"no"},"decision_id":"no","path":"not/a/path","metrics":{"timer_server_handler_ns":1}}` +
	"\n" + `,"metrics":{"timer_rego_query_eval_ns":2}}` + "\n"

var (
	users   = []string{"alice", "bob", "carol", "dave", "erin", "frank"}
	methods = []string{"DELETE", "GET", "PATCH", "POST", "PUT"}
)

func pick(s *source, from []string) string { return from[s.below(len(from))] }

func resourceOf(s *source) map[string]any {
	n := s.Uint64()
	return map[string]any{
		"id":     fmt.Sprintf("res-%08x", uint32(n)),
		"kind":   pick(s, []string{"document", "invoice", "project"}),
		"labels": map[string]any{"env": "prod", "owner": pick(s, users), "zone": fmt.Sprintf("eu-%d", n>>60)},
		"public": n>>40&1 == 0,
	}
}

// token returns n random letters and digits.
func token(s *source, n int) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[s.below(len(digits))]
	}
	return string(b)
}
