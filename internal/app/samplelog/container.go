// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// A format is a container: how events stand in a log.
type format struct {
	name   string
	layout *layout

	array  bool // events are in arrays, with nothing in between
	lines  bool // each event is on a line, so that one can break off
	whole  bool // it is then the line that breaks off, not what it holds
	quoted bool // an event is in a string, which is valid UTF-8

	// wrap appends text, which is an event or another line, as it stands in the
	// log.
	wrap func(w *writer, b, text []byte) []byte
}

var formats = []format{
	{name: "ndjson", layout: &uploadLayout, lines: true, wrap: bare},
	{name: "console", layout: &consoleLayout, lines: true, wrap: bare},
	{name: "file_logger", layout: &fileLayout, lines: true, wrap: bare},
	{name: "spaced", layout: &uploadLayout, lines: true, wrap: spaced},
	{name: "upload", layout: &uploadLayout, array: true, wrap: body},
	{name: "pretty", layout: &uploadLayout, array: true, wrap: prettyArray},
	{name: "pretty-lines", layout: &consoleLayout, wrap: pretty},
	{name: "docker", layout: &consoleLayout, lines: true, quoted: true, wrap: docker},
	{name: "cri", layout: &consoleLayout, lines: true, wrap: cri},
	{name: "compose", layout: &consoleLayout, lines: true, wrap: prefixed("opa-1  | ")},
	{name: "kubectl", layout: &consoleLayout, lines: true, wrap: prefixed("[pod/opa-6c9f7d8b5-x2v4q/opa] ")},
	{name: "splunk", layout: &consoleLayout, lines: true, whole: true, wrap: splunk},
	{name: "fluentbit", layout: &consoleLayout, lines: true, whole: true, wrap: fluentBit},
	{name: "fluentbit-message", layout: &consoleLayout, lines: true, quoted: true, wrap: fluentBitMessage},
}

// Containers returns the containers that a log can be in.
func Containers() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// formatOf returns the format of a name, or nil.
func formatOf(name string) *format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return nil
}

func bare(_ *writer, b, text []byte) []byte { return append(append(b, text...), '\n') }

// spaced appends an event with a space behind each comma and colon, as Python's
// json.dumps writes it.
func spaced(w *writer, b, text []byte) []byte {
	if text[0] != '{' {
		return bare(w, b, text)
	}
	quoted := false
	for i, c := range text {
		b = append(b, c)
		switch {
		case c == '"' && (!quoted || !isEscaped(text[:i])):
			quoted = !quoted
		case (c == ',' || c == ':') && !quoted:
			b = append(b, ' ')
		}
	}
	return append(b, '\n')
}

// isEscaped reports whether what follows text in a string is escaped.
func isEscaped(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `\`)))%2 > 0
}

func prefixed(prefix string) func(*writer, []byte, []byte) []byte {
	return func(_ *writer, b, text []byte) []byte {
		return append(append(append(b, prefix...), text...), '\n')
	}
}

// bodyBytes is about how long a body is that OPA sends. It sends about 32 KiB,
// compressed.
const bodyBytes = 256 << 10

// body appends an event to the body of a request, an array without spaces.
func body(w *writer, b, text []byte) []byte {
	if w.array == 0 {
		b = append(b, '[')
	} else {
		b = append(b, ',')
	}
	b = append(b, text...)
	if w.array += len(text); w.array > bodyBytes {
		b = append(b, ']')
		w.array, w.endMember = 0, true
	}
	return b
}

// prettyArray appends an event to an array over many lines.
func prettyArray(w *writer, b, text []byte) []byte {
	if w.array == 0 {
		b = append(b, "[\n  "...)
	} else {
		b = append(b, ",\n  "...)
	}
	w.array += len(text)
	return w.indent(b, text, "  ")
}

// closeArray appends the end of an array that is still open.
func (w *writer) closeArray(b []byte) []byte {
	switch {
	case w.array == 0:
		return b
	case w.format.name == "pretty":
		return append(b, "\n]\n"...)
	default:
		return append(b, ']')
	}
}

// pretty appends an event over many lines, as OPA does with --log-format
// json-pretty. Other lines are by other programs.
func pretty(w *writer, b, text []byte) []byte {
	if !w.isEvent {
		return bare(w, b, text)
	}
	return append(w.indent(b, text, ""), '\n')
}

func (w *writer) indent(b, text []byte, prefix string) []byte {
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, prefix, "  "); err != nil {
		panic(err) // such events are whole
	}
	return append(b, indented.Bytes()...)
}

// partBytes is where docker and containerd split a line.
const partBytes = 16 << 10

func docker(w *writer, b, text []byte) []byte {
	for more := true; more; {
		part := text
		if more = len(text) > partBytes; more {
			part = text[:partBytes]
		}
		text = text[len(part):]
		b = append(b, `{"log":"`...)
		b = appendQuoted(b, part)
		if !more {
			b = append(b, `\n`...)
		}
		b = append(b, `","stream":"stderr","time":"`...)
		b = append(w.renderer.appendTime(b, w.time), "\"}\n"...)
	}
	return b
}

func cri(w *writer, b, text []byte) []byte {
	for len(text) > partBytes {
		b = append(w.renderer.appendTime(b, w.time), " stderr P "...)
		b = append(append(b, text[:partBytes]...), '\n')
		text = text[partBytes:]
	}
	b = append(w.renderer.appendTime(b, w.time), " stderr F "...)
	return append(append(b, text...), '\n')
}

func splunk(w *writer, b, text []byte) []byte {
	b = append(b, `{"event":`...)
	b = appendNested(b, text)
	b = append(b, `,"time":`...)
	b = appendSeconds(b, w.time)
	return append(b, `,"host":"opa-0","source":"stderr","sourcetype":"opa","index":"main"}`+"\n"...)
}

// kubernetes is what Fluent Bit adds.
const kubernetes = `,"stream":"stderr","kubernetes":{"pod_name":"opa-6c9f7d8b5-x2v4q","labels":{"app":"opa"}}}` + "\n"

func fluentBit(w *writer, b, text []byte) []byte {
	b = append(b, `{"date":`...)
	b = appendSeconds(b, w.time)
	b = append(b, `,"log":`...)
	return append(appendNested(b, text), kubernetes...)
}

func fluentBitMessage(w *writer, b, text []byte) []byte {
	b = append(b, `{"@timestamp":"`...)
	b = append(w.renderer.appendTime(b, w.time), `","message":"`...)
	return append(append(appendQuoted(b, text), '"'), kubernetes...)
}

// appendNested appends an object as it is, and other text as a string.
func appendNested(b, text []byte) []byte {
	if text[0] == '{' {
		return append(b, text...)
	}
	return append(appendQuoted(append(b, '"'), text), '"')
}

func appendSeconds(b []byte, t time.Time) []byte {
	b = strconv.AppendInt(b, t.Unix(), 10)
	at := len(b)
	b = strconv.AppendInt(b, 1_000_000+int64(t.Nanosecond()/1000), 10)
	b[at] = '.' // in place of the 1
	return b
}

// appendQuoted appends text as docker has it in a string. encoding/json escapes
// the same, but for some control characters that do not occur.
func appendQuoted(b, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRune(text[i:]); r != utf8.RuneError {
				i += size
				continue
			}
		}
		b = append(b, text[from:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, `\ufffd`...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
		i += size
		from = i
	}
	return append(b, text[from:]...)
}

// plain tells which bytes stand for themselves in a string.
var plain = func() (plain [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = !bytes.ContainsRune([]byte(`"\<>&`), rune(c))
	}
	return plain
}()
