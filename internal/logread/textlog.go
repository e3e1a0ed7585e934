// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"strconv"
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

// isTextLog reports whether an event follows the line in the text format.
func isTextLog(line []byte) bool {
	level, isDecision := bytes.CutSuffix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("] Decision Log"))
	return isDecision && isLogged(line) && bytes.IndexByte(level, ']') < 0
}

// textLog reads the event in the text format at i.
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
	switch n = min(n, len(rest)); {
	case end || n < len(rest):
		s.textEvent(rest[:n])
		return i + n, true
	case len(rest) == s.reader.maxLength:
		s.breakOff(TooLong, rest)
		return i, true
	}
	return i, false
}

// textEvent reads an event in the text format.
func (s *source) textEvent(text []byte) {
	p := &s.reader.finder.parsers[s.index()]
	event := appendTextEvent(nil, text)
	p.checked = true
	if p.parse(event) != len(event) || !s.reader.finder.take(s, p, s.nesting, event) {
		s.noteOther(text, bytes.Count(text, newline))
	}
	s.endLines(bytes.Count(text, newline))
	s.within = text[len(text)-1] != '\n'
}

// appendTextEvent appends the JSON object that an event in the text format
// stands for.
func appendTextEvent(dst, text []byte) []byte {
	dst = append(dst, '{')
	var key, value []byte
	hasLines := false // the value has the lines that follow
	add := func() {
		if hasLines {
			value = bytes.TrimSpace(value)
		}
		if key != nil {
			if !json.Valid(value) || fieldOf(key) < fieldResult && value[0] != '"' {
				value, _ = json.Marshal(string(value)) // never fails
			}
			dst = append(append(append(strconv.AppendQuote(dst, string(key)), ':'), value...), ',')
		}
	}
	for line := range bytes.Lines(text) {
		if isTextField(line) {
			add()
			key, value, _ = bytes.Cut(line[2:], []byte(" = "))
			value = bytes.TrimRight(value, "\r\n")
			if hasLines = string(value) == "|"; hasLines {
				value = nil
			}
		} else if hasLines {
			value = append(value, bytes.TrimPrefix(line, []byte("      "))...)
		}
	}
	add()
	return append(bytes.TrimSuffix(dst, []byte{','}), '}')
}

// isTextField reports whether a line begins a field: it is indented by two
// blanks, no more.
func isTextField(line []byte) bool {
	return len(line) > 2 && line[0] == ' ' && line[1] == ' ' && line[2] != ' ' && bytes.Contains(line, []byte(" = "))
}
