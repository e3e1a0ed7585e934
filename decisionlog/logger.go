// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"
)

// A logger writes what a client of OPA has sent: a policy prints its input, and
// an error quotes it. So nothing in a line of a logger is an event, whatever it
// looks like, except OPA's own line of a decision.

// isLogged reports whether the object is a line of a logger, as of OPA's own
// with --log-format json: it has a level, and a message that is not that of a
// decision.
func (p *parser) isLogged() bool { return p.has(fieldLevel) && p.hasOtherMessage() }

// levels begin the lines of OPA's logger with --log-format text. Indented lines
// with fields follow them.
var levels = [][]byte{
	[]byte("[INFO] "), []byte("[ERROR] "), []byte("[WARNING] "), []byte("[WARN] "), []byte("[DEBUG] "), []byte("[FATAL] "), []byte("[PANIC] "),
	[]byte("[TRACE] "),
}

// isLogged reports whether a line begins as a line of a logger.
func isLogged(line []byte) bool {
	return slices.ContainsFunc(levels, func(level []byte) bool { return bytes.HasPrefix(line, level) })
}

// endsLogged reports whether a prefix that ends before an object has the level
// of a line of a logger, or ends with the name of its field.
func endsLogged(prefix []byte) bool {
	at := bytes.LastIndex(prefix, []byte("  "))
	isField := at >= 0 && isTextField(prefix[at:]) && bytes.HasSuffix(prefix, []byte(" = "))
	return isField || slices.ContainsFunc(levels, func(level []byte) bool { return bytes.Contains(prefix, level) })
}

// noteLogged notes a line of a logger.
func (s *source) noteLogged(line []byte) {
	if hasEvent(line) {
		s.problem(Logged, s.line())
	} else {
		s.noteOther(line, 1)
	}
}

// hasEvent reports whether a text in a line of a logger has the names of an
// event's members, also within strings.
func hasEvent(text []byte) bool {
	has := func(name string) bool { return bytes.Contains(text, []byte(`"`+name)) }
	target := has("path") || has("query")
	return has("decision_id") && (target || has("labels") || has("metrics")) || has("labels") && has("metrics") && target
}
