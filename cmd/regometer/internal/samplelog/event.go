// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/outcome"
)

// layout is the order of an event's fields, and how they are written.
type layout struct {
	fields    []string
	errorText bool // an error is a text
}

var (
	// uploadLayout is the layout of OPA's uploads: the fields of its EventV1 in
	// order.
	uploadLayout = layout{fields: strings.Fields(
		"labels decision_id trace_id span_id bundles path query input result nd_builtin_cache erased error requested_by timestamp metrics req_id")}
	// consoleLayout is the layout of OPA's logger: all fields sorted.
	consoleLayout = layout{errorText: true, fields: strings.Fields(
		"bundles decision_id erased error input labels level metrics msg nd_builtin_cache path query req_id requested_by result span_id time timestamp trace_id type")}
)

// form is the form of a log: the layout of its events, and the text around
// an event, with the variables of [writer.expand].
type form struct {
	*layout
	template string
}

var forms = map[string]form{
	"ndjson":  {&uploadLayout, "$text\n"},
	"console": {&consoleLayout, "$text\n"},
	"spaced":  {&uploadLayout, "$spaced\n"},
	"upload":  {&uploadLayout, "$text"}, // arrays
	"docker":  {&consoleLayout, `{"log":$log,"stream":"stderr","time":"$time"}` + "\n"},
	"cri":     {&consoleLayout, "$time stderr $tag $text\n"},
	"kubectl": {&consoleLayout, "[pod/opa-6c9f7d8b5-x2v4q/opa] $text\n"},
}

// Forms returns the names of all forms.
func Forms() []string { return slices.Sorted(maps.Keys(forms)) }

// arrayBytes is the size after which an array ends. OPA uploads about 32 KiB,
// compressed.
const arrayBytes = 256 << 10

// wrap returns an event in the form of the log.
func (w *writer) wrap(text []byte) (wrapped string) {
	if w.Form == "upload" {
		wrapped = ","
		if w.inArray == 0 {
			wrapped = "["
		}
		w.inArray += len(text)
	}
	const partBytes = 16 << 10 // where docker and containerd split a line
	for (w.Form == "docker" || w.Form == "cri") && len(text) > partBytes {
		wrapped += w.expand(text[:partBytes], "P")
		text = text[partBytes:]
	}
	wrapped += w.expand(text, "F")
	if w.inArray > arrayBytes {
		wrapped += w.closeArray()
	}
	return wrapped
}

// closeArray returns the end of an array that is open.
func (w *writer) closeArray() string {
	end := when(w.inArray > 0, "]")
	w.inArray = 0
	return end
}

// expand returns the form's template around text. The tag is "P", for partial,
// if more of the line follows, or else "F", for full.
func (w *writer) expand(text []byte, tag string) string {
	return os.Expand(w.template, func(variable string) string {
		var b bytes.Buffer
		switch {
		case variable == "log":
			return jsonOf(string(text) + when(tag == "F", "\n"))
		case variable == "tag":
			return tag
		case variable == "time":
			return w.time.Format(time.RFC3339Nano)
		case variable == "spaced" && json.Indent(&b, text, "", "") == nil:
			return strings.ReplaceAll(b.String(), "\n", " ")
		}
		return string(text)
	})
}

// event returns the decision as an event, which is valid until the next call.
func (w *writer) event() []byte {
	values := w.values()
	w.buffer = append(w.buffer[:0], '{')
	for _, field := range w.fields {
		if value := values[field]; value != "" {
			w.buffer = appendField(w.buffer, field, value)
		}
	}
	w.buffer[len(w.buffer)-1] = '}'
	return w.buffer
}

// appendField appends a field, whose value is JSON, and a comma.
func appendField(b []byte, key, value string) []byte {
	b = append(append(append(b, '"'), key...), `":`...)
	return append(append(b, value...), ',')
}

// values returns the fields of the event as JSON. A field that the event lacks
// is "".
func (w *writer) values() map[string]string {
	d := &w.decision
	timestamp, failure, input, span := d.time.Format(time.RFC3339Nano), d.failure.object, "", ""
	if w.errorText {
		failure = quote(d.failure.text)
	}
	if d.input >= 0 {
		input = fmt.Sprintf(`{"number":%d,%s`, d.request, w.inputs[d.input%len(w.inputs)])
	}
	if d.trace != "" {
		span = d.trace[16:]
	}
	revision := w.Revisions[0]
	if s := w.Slower; s != nil && revision != "" && w.elapsed >= s.After {
		revision = w.Revisions[1]
	}
	return map[string]string{
		"labels":      `{"id":"` + w.ids[d.server] + `","version":"1.22.0"}`,
		"decision_id": quote(d.id),
		"trace_id":    quote(d.trace),
		"span_id":     quote(span),
		"bundles":     when(revision != "", `{"authz":{"revision":"`+revision+`"}}`),
		"path":        when(d.path != outcome.Query && d.path != outcome.AllData, quote(d.path)),
		"query":       when(d.path == outcome.Query, `"data.users[user].tenant == \"acme\""`),
		"input":       input,
		"result":      d.result,
		"nd_builtin_cache": when(d.counters[networkRequests] > 0,
			`{"http.send":{"[{\"method\":\"get\",\"url\":\"https://limits.example.com/v1\"}]":`+
				`{"body":{"limit":10000,"metrics":{"timer_server_handler_ns":1}},"status":"200 OK","status_code":200}}}`),
		"erased":       when(d.erased != "", `["`+d.erased+`"]`),
		"error":        failure,
		"requested_by": fmt.Sprintf(`"10.%d.3.%d:%d"`, d.client>>28, d.client>>20&0xff, 32768+d.client&0x7fff), // an ephemeral port
		"timestamp":    quote(timestamp),
		"metrics":      d.metrics(),
		"req_id":       strconv.Itoa(d.request),
		"level":        `"info"`,
		"msg":          `"Decision Log"`,
		"type":         `"openpolicyagent.org/decision_logs"`,
		"time":         quote(d.time.Format(time.RFC3339)),
	}
}

// when returns text if the condition holds, or else "".
func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// quote returns text as a JSON string, or "" if the text is empty. The text must
// need no escapes.
func quote(text string) string { return when(text != "", `"`+text+`"`) }

// jsonOf returns a text as JSON.
func jsonOf(text string) string {
	b, _ := json.Marshal(text) // texts can be written
	return string(b)
}

// metrics returns the metrics as JSON, sorted by key as OPA sorts them.
func (d *decision) metrics() string {
	b := append(make([]byte, 0, 512), '{')
	for _, name := range slices.Sorted(maps.Keys(d.counters)) {
		b = appendField(b, "counter_"+name, strconv.FormatInt(d.counters[name], 10))
	}
	timers := slices.Sorted(maps.Keys(d.timers))
	for _, name := range timers {
		if strings.HasPrefix(name, "eval_op_") { // OPA's summary of a single value
			b = appendField(b, "histogram_"+name, fmt.Sprintf(`{"75%%":%[1]d,"90%%":%[1]d,"95%%":%[1]d,"99%%":%[1]d,"99.9%%":%[1]d,`+
				`"99.99%%":%[1]d,"count":1,"max":%[1]d,"mean":%[1]d,"median":%[1]d,"min":%[1]d,"stddev":0}`, d.timers[name]))
		}
	}
	for _, name := range timers {
		b = appendField(b, "timer_"+name+"_ns", strconv.FormatInt(d.timers[name], 10))
	}
	b[len(b)-1] = '}'
	return string(b)
}
