// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
)

// OPA's console writes with --log-format text
//
//	[INFO] Decision Log
//	  path = "rbac/allow"
//	  metrics = |
//	      {
//	        "timer_rego_query_eval_ns": 1
//	      }
//
// in any order of the keys: values are JSON, but for strings that are JSON
// themselves or have several lines, which are as they are. Lines after the
// first of a value are indented by six blanks.

// textObject returns the JSON object that a line in the text format stands for.
func textObject(text []byte) []byte {
	first, text, _ := bytes.Cut(text, []byte{'\n'})
	name, message, _ := bytes.Cut(first, []byte("] "))
	object := appendMember([]byte{'{'}, []byte("level"), appendText(nil, bytes.ToLower(name[1:])))
	object = appendMember(object, []byte("msg"), appendText(nil, bytes.TrimSuffix(message, []byte{'\r'})))
	var field []byte
	for line := range bytes.Lines(text) {
		if key, _, isField := bytes.Cut(line, []byte(" = ")); isField && len(key) > 2 && key[1] == ' ' && key[2] != ' ' {
			object, field = appendTextField(object, field), line
		} else if field != nil {
			field = append(field, line...)
		}
	}
	return append(bytes.TrimSuffix(appendTextField(object, field), []byte{','}), '}')
}

// appendTextField appends a member that is lines in the text format, and a comma.
func appendTextField(object, field []byte) []byte {
	key, value, isField := bytes.Cut(field, []byte(" = "))
	if !isField {
		return object
	}
	key = key[2:]
	value, lines, _ := bytes.Cut(value, []byte{'\n'})
	if value = bytes.TrimSuffix(value, []byte{'\r'}); string(value) == "|" {
		value = bytes.TrimSpace(bytes.ReplaceAll(lines, []byte("\n      "), []byte{'\n'}))
	}
	if !json.Valid(value) || fieldOf(key) < fieldResult && value[0] != '"' {
		value = appendText(nil, value)
	}
	return append(append(append(appendText(object, key), ':'), value...), ',')
}
