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

// newInputs renders the inputs of all events.
func newInputs(o *Options) []string {
	s := newSource(o.Seed, 5)
	n, size := inputsOf(o)
	inputs := make([]string, n)
	for i := range inputs {
		inputs[i] = newInput(s, size*3/4+s.below(size/2+1))
	}
	return inputs
}

// decoys are keys of an event and text that looks like one. Long inputs have
// them.
var decoys = `"decision_id":"none of this log","path":["finance","salary"],"query":"a=1&b=<2>","labels":{"id":"x","team":"zürich"},"result":false,` +
	`"metrics":{"timer_rego_query_eval_ns":1,"timer_server_handler_ns":-1},"timestamp":"1999-12-31T23:59:59Z","error":{"code":"none"},"msg":"Sent response.","note":` +
	jsonOf("}\n"+`{"labels":{"id":"no"},"decision_id":"no","path":"not/a/path","metrics":{"timer_server_handler_ns":1}}`+"\n") + ","

// newInput renders an input of about this size. Most of a long input is a list
// of resources.
func newInput(s *source, size int) string {
	pick := func(from ...string) string { return from[s.below(len(from))] }
	users := []string{"alice", "bob", "carol", "dave", "erin", "frank"}
	user, method, owner := pick(users...), pick("DELETE", "GET", "PATCH", "POST", "PUT"), pick(users...)
	text := fmt.Sprintf(`{"method":%q,"user":%q`, method, user)
	if size < len(text)+len(decoys) {
		return text + "}"
	}
	text += "," + decoys + `"resources":[`
	for first := true; first || len(text) < size; first = false {
		if !first {
			text += ","
		}
		text += fmt.Sprintf(`{"id":"res-%08x","kind":%q,"labels":{"env":"prod","owner":%q},"public":%t}`,
			uint32(s.Uint64()), pick("document", "invoice", "project"), owner, s.oneIn(2))
	}
	return text + "]}"
}

// jsonOf returns a value as JSON.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // all these values can be written
	}
	return string(text)
}
