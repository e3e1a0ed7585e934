// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"slices"
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

// textLog reads a line of a logger in the text format at i, with its fields.
func (s *source) textLog(text []byte, i int, end bool) (next int, ok bool) {
	rest := text[i:]
	rest = rest[:min(len(rest), s.reader.maxLength)]
	end = end && len(rest) < s.reader.maxLength
	// It ends before a line that is neither empty nor indented.
	n := lineEnd(rest, 0) + 1
	for n < len(rest) {
		eol := lineEnd(rest, n)
		line, isWhole := rest[n:eol], eol < len(rest) || end
		if isWhole && !hasPrefix(line, "  ") && len(bytes.TrimSpace(line)) > 0 {
			break
		}
		n = eol + 1
	}
	switch {
	case end || n < len(rest):
		lines, f := bytes.TrimRight(rest[:min(n, len(rest))], " \t\r\n"), &s.reader.finder
		times := f.times
		if n < len(rest) && s.times != nil { // it ended with the record before
			f.times = slices.Clip(s.times)
		}
		s.readMade(textObject(lines), lines)
		f.times = times
		return i + len(lines), true
	case len(rest) == s.reader.maxLength:
		s.breakOff(TooLong, rest, len(rest))
		return i, true
	}
	return i, false
}

// readMade reads an object that stands for lines.
func (s *source) readMade(object, lines []byte) {
	p := &s.reader.finder.parsers[s.index()]
	joinLines(object)
	p.parse(object)
	s.parsed(p, s.nesting, object, bytes.Count(lines, newline))
}

// textObject returns the JSON object that a line in the text format stands for.
func textObject(text []byte) []byte {
	first, text, _ := bytes.Cut(text, newline)
	name, message, _ := bytes.Cut(first, []byte("] "))
	object := []byte{'{'}
	if message = bytes.TrimSuffix(message, []byte{'\r'}); string(message) != "Decision Log" {
		object = append(appendText(append(object, `"level":`...), bytes.ToLower(name[1:])), ',')
		object = append(appendText(append(object, `"msg":`...), message), ',')
	}
	var field []byte
	for at := 0; at < len(text); {
		start := at
		line := text[at:lineEnd(text, at)]
		at = min(at+len(line)+1, len(text))
		if key, _, isField := bytes.Cut(line, []byte(" = ")); isField && len(key) > 2 && key[1] == ' ' && key[2] != ' ' {
			object = appendTextField(object, field)
			field = text[start:at]
		} else if field != nil {
			field = field[:len(field)+at-start]
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
	value, lines, _ := bytes.Cut(value, newline)
	if value = bytes.TrimSuffix(value, []byte{'\r'}); string(value) == "|" {
		value = bytes.TrimSpace(bytes.ReplaceAll(lines, []byte("\n      "), newline))
	}
	if !json.Valid(value) || fieldOf(key) < fieldResult && value[0] != '"' {
		value = appendText(nil, value)
	}
	return append(append(append(appendText(object, key), ':'), value...), ',')
}
