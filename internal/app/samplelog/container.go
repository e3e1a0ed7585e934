// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// format is a form of a log: the container and the layout of its events.
type format struct {
	name string
	*layout
	// template is the text around an event or another line. writer.expand has
	// its variables.
	template string

	open, next, end string // before, between and after the events of an array, or ""
	arrayBytes      int    // the size after which an array ends; 0 is never
}

// uses reports whether the template has one of the variables.
func (f *format) uses(variables ...string) bool {
	return slices.ContainsFunc(variables, func(v string) bool { return strings.Contains(f.template, v) })
}

// hasLines reports whether each event has a line of its own, so that a line can
// break off.
func (f *format) hasLines() bool { return f.open == "" && !f.uses("$indented") }

// kubernetes is the text that Fluent Bit adds.
const kubernetes = `,"stream":"stderr","kubernetes":{"pod_name":"opa-6c9f7d8b5-x2v4q","labels":{"app":"opa"}}}` + "\n"

var formats = []format{
	{name: "ndjson", layout: &uploadLayout, template: "$text\n"},
	{name: "console", layout: &consoleLayout, template: "$text\n"},
	{name: "file_logger", layout: &fileLayout, template: "$text\n"},
	{name: "spaced", layout: &uploadLayout, template: "$spaced\n"},
	// OPA sends about 32 KiB, compressed.
	{name: "upload", layout: &uploadLayout, open: "[", next: ",", end: "]", arrayBytes: 256 << 10, template: "$text"},
	{name: "pretty", layout: &uploadLayout, open: "[\n  ", next: ",\n  ", end: "\n]\n", template: "$indented"},
	{name: "pretty-lines", layout: &consoleLayout, template: "$indented\n"},
	{name: "docker", layout: &consoleLayout,
		template: `{"log":$log,"stream":"stderr","time":"$time"}` + "\n"},
	{name: "cri", layout: &consoleLayout, template: "$time stderr $tag $text\n"},
	{name: "compose", layout: &consoleLayout, template: "opa-1  | $text\n"},
	{name: "kubectl", layout: &consoleLayout, template: "[pod/opa-6c9f7d8b5-x2v4q/opa] $text\n"},
	{name: "splunk", layout: &consoleLayout,
		template: `{"event":$value,"time":$seconds,"host":"opa-0","source":"stderr","sourcetype":"opa","index":"main"}` + "\n"},
	{name: "fluentbit", layout: &consoleLayout, template: `{"date":$seconds,"log":$value` + kubernetes},
	{name: "fluentbit-message", layout: &consoleLayout,
		template: `{"@timestamp":"$time","message":$string` + kubernetes},
}

// Containers returns the names of all containers.
func Containers() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// formatOf returns the format with a name, or nil.
func formatOf(name string) *format {
	if at := slices.Index(Containers(), name); at >= 0 {
		return &formats[at]
	}
	return nil
}

// wrap appends an event or another line to the buffer, in the form of the
// container.
func (w *writer) wrap(text []byte) {
	f := w.format
	if f.open != "" {
		if w.arrayBytes == 0 {
			w.buffer = append(w.buffer, f.open...)
		} else {
			w.buffer = append(w.buffer, f.next...)
		}
		w.arrayBytes += len(text)
	}
	const partBytes = 16 << 10 // where docker and containerd split a line
	for f.uses("$log", "$tag") && len(text) > partBytes {
		w.expand(text[:partBytes], "P")
		text = text[partBytes:]
	}
	w.expand(text, "F")
	if f.arrayBytes > 0 && w.arrayBytes > f.arrayBytes {
		w.closeArray()
		w.endMember = true
	}
}

// closeArray ends an array that is still open.
func (w *writer) closeArray() {
	if w.arrayBytes > 0 {
		w.buffer, w.arrayBytes = append(w.buffer, w.format.end...), 0
	}
}

// expand appends the format's template around text. The tag is "P", for
// partial, if more of the line follows, or else "F", for full.
func (w *writer) expand(text []byte, tag string) {
	w.buffer = append(w.buffer, os.Expand(w.format.template, func(variable string) string {
		switch {
		case variable == "log":
			return w.format.json(string(text) + when(tag == "F", "\n"))
		case variable == "tag":
			return tag
		case variable == "time":
			return w.time.Format(time.RFC3339Nano)
		case variable == "seconds":
			return fmt.Sprintf("%d.%06d", w.time.Unix(), w.time.Nanosecond()/1000)
		case variable == "string", variable == "value" && text[0] != '{':
			return w.format.json(string(text))
		case variable == "spaced" && text[0] == '{':
			return spaced(text)
		case variable == "indented" && w.isEvent:
			var b bytes.Buffer
			prefix := w.format.open[min(len(w.format.open), len("[\n")):]
			_ = json.Indent(&b, text, prefix, "  ") // no event of this container breaks off
			return b.String()
		}
		return string(text)
	})...)
}

// spaced returns JSON with a space after each comma and colon, as Python's
// json.dumps writes it.
func spaced(text []byte) string {
	var b []byte
	quoted, escaped := false, false
	for _, c := range text {
		b = append(b, c)
		if c == '"' && !escaped {
			quoted = !quoted
		}
		escaped = c == '\\' && !escaped
		if !quoted && (c == ',' || c == ':') {
			b = append(b, ' ')
		}
	}
	return string(b)
}
