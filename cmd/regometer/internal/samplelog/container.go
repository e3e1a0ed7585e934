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
	{name: "upload", layout: &uploadLayout, open: "[", next: ",", end: "]", template: "$text"},
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

// arrayBytes is the size after which an array ends. OPA uploads about 32 KiB,
// compressed.
const arrayBytes = 256 << 10

// wrap returns an event or another line in the form of the container.
func (w *writer) wrap(text []byte) (wrapped string) {
	f := w.format
	if f.open != "" {
		wrapped = f.next
		if w.inArray == 0 {
			wrapped = f.open
		}
		w.inArray += len(text)
	}
	const partBytes = 16 << 10 // where docker and containerd split a line
	for f.uses("$log", "$tag") && len(text) > partBytes {
		wrapped += w.expand(text[:partBytes], "P")
		text = text[partBytes:]
	}
	wrapped += w.expand(text, "F")
	if w.inArray > arrayBytes && f.name == "upload" {
		wrapped += w.closeArray()
	}
	return wrapped
}

// closeArray returns the end of an array that is open.
func (w *writer) closeArray() string {
	if w.inArray == 0 {
		return ""
	}
	w.inArray = 0
	return w.format.end
}

// expand returns the format's template around text. The tag is "P", for
// partial, if more of the line follows, or else "F", for full.
func (w *writer) expand(text []byte, tag string) string {
	return os.Expand(w.format.template, func(variable string) string {
		var b bytes.Buffer
		isObject := text[0] == '{'
		switch {
		case variable == "log":
			return jsonOf(string(text) + when(tag == "F", "\n"))
		case variable == "tag":
			return tag
		case variable == "time":
			return w.event.time.Format(time.RFC3339Nano)
		case variable == "seconds":
			return fmt.Sprintf("%d.%06d", w.event.time.Unix(), w.event.time.Nanosecond()/1000)
		case variable == "string", variable == "value" && !isObject:
			return jsonOf(string(text))
		case variable == "spaced" && json.Indent(&b, text, "", "") == nil:
			return strings.ReplaceAll(b.String(), "\n", " ")
		case variable == "indented" && w.isEvent && json.Indent(&b, text, w.format.open[min(len(w.format.open), len("[\n")):], "  ") == nil:
			return b.String()
		}
		return string(text)
	})
}
