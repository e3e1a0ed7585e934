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

// level matches the level of a line of OPA's logger with --log-format text, and
// logged such a line. Indented lines with fields follow it. fieldName matches the
// name of a field at the end of a text.
var (
	level     = regexp.MustCompile(`\[(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|PANIC|TRACE)\] `)
	logged    = regexp.MustCompile("^" + level.String())
	fieldName = regexp.MustCompile(`  [^ ].* = $`)
)

// endsLogged reports whether a prefix that ends before an object has the level
// of a line of a logger, or ends with the name of its field.
func endsLogged(prefix []byte) bool {
	return level.Match(prefix) || fieldName.Match(prefix)
}

// hasEvent reports whether a text in a line of a logger has the names of an
// event's members, also within strings.
func hasEvent(text []byte) bool {
	has := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	target, metrics, labels := has(`"path`) || has(`"query`), has(`"metrics`), has(`"labels`)
	isEvent := has(`"decision_id`) && (target || metrics || labels) || target && metrics && (labels || has("Decision Log"))
	return isEvent && has("{")
}
