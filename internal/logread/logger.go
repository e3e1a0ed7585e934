// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
)

// A logger writes what a client of OPA has sent: a policy prints its input, and
// an error quotes it. So nothing in a line of a logger is an event, whatever it
// looks like, except OPA's own line of a decision.

// isLogged reports whether the object is a line of a logger, as of OPA's own
// with --log-format json: it has a level, and a message that is not that of a
// decision.
func (p *parser) isLogged() bool { return p.has(fieldLevel) && p.hasOtherMessage() }

// level matches the level of a line in the text format, and fieldName the name
// of one of its fields at the end of a text.
var (
	level     = regexp.MustCompile(`\[(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|PANIC|TRACE)\] `)
	fieldName = regexp.MustCompile(`  [^ ].* = $`)
)

// isLogged reports whether a line begins as a line of OPA's logger with
// --log-format text. Indented lines with fields follow it.
func isLogged(line []byte) bool {
	at := level.FindIndex(line[:min(len(line), len("[WARNING] "))])
	return at != nil && at[0] == 0
}

// endsLogged reports whether a prefix that ends before an object has the level
// of a line of a logger, or ends with the name of its field.
func endsLogged(prefix []byte) bool {
	return level.Match(prefix) || fieldName.Match(prefix)
}

// hasEvent reports whether a text in a line of a logger has the names of an
// event's members, also within strings.
func hasEvent(text []byte) bool {
	if bytes.IndexByte(text, '{') < 0 {
		return false
	}
	id, labels, metrics := bytes.Contains(text, []byte(`"decision_id`)), bytes.Contains(text, []byte(`"labels`)), bytes.Contains(text, []byte(`"metrics`))
	target := bytes.Contains(text, []byte(`"path`)) || bytes.Contains(text, []byte(`"query`))
	marked := labels || bytes.Contains(text, []byte("Decision Log"))
	return id && (target || labels || metrics) || marked && metrics && target
}
