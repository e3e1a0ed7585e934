// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"encoding/json"
	"time"
)

// An event has the fields of OPA's EventV1 that events here have.
type event struct {
	Labels         map[string]string `json:"labels"`
	DecisionID     string            `json:"decision_id"`
	Bundles        map[string]bundle `json:"bundles,omitempty"`
	Path           string            `json:"path,omitempty"`
	Query          string            `json:"query,omitempty"`
	Input          json.RawMessage   `json:"input,omitempty"`
	Result         json.RawMessage   `json:"result,omitempty"`
	NDBuiltinCache json.RawMessage   `json:"nd_builtin_cache,omitempty"`
	Erased         []string          `json:"erased,omitempty"`
	Error          *failure          `json:"error,omitempty"`
	RequestedBy    string            `json:"requested_by"`
	Timestamp      time.Time         `json:"timestamp"`
	Metrics        map[string]any    `json:"metrics"`
	RequestID      uint64            `json:"req_id"`
}

type bundle struct {
	Revision string `json:"revision"`
}

// failure is an error, as an object and as the text on the console, with escapes.
type failure struct{ object, text string }

func (f *failure) MarshalJSON() ([]byte, error) { return []byte(f.object), nil }

// Forms are the names of all forms.
var Forms = []string{"console", "cri", "docker", "ndjson"}

// text returns the event in a form, without a container. OPA's logger sorts all
// fields. Log shippers have those of its EventV1 in order.
func (e *event) text(form string) []byte {
	text := unescaped(e)
	if form == "ndjson" {
		return text
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // it was written as JSON
	for name, value := range map[string]string{"level": "info", "msg": "Decision Log", "time": e.Timestamp.Format(time.RFC3339), "type": "openpolicyagent.org/decision_logs"} {
		fields[name] = json.RawMessage(`"` + value + `"`)
	}
	if e.Error != nil {
		fields["error"] = json.RawMessage(`"` + e.Error.text + `"`)
	}
	return unescaped(fields)
}

// unescaped returns a value as JSON, without escapes for HTML.
func unescaped(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // all values can be written
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// quoted returns a text as JSON.
func quoted(text string) string {
	b, _ := json.Marshal(text) // texts can be written
	return string(b)
}

// wrap returns the text of the event as the container of a form has it.
func (e *event) wrap(text []byte, form string) (wrapped string) {
	if form != "docker" && form != "cri" {
		return string(text) + "\n"
	}
	const partBytes = 16 << 10 // where docker and containerd split a line
	for ; len(text) > partBytes; text = text[partBytes:] {
		wrapped += e.contained(string(text[:partBytes]), form, "P")
	}
	return wrapped + e.contained(string(text), form, "F")
}

// contained returns a part of a line as docker or containerd writes it. The tag
// is "P", for partial, if more of the line follows, or else "F", for full.
func (e *event) contained(text, form, tag string) string {
	at := e.Timestamp.Format(time.RFC3339Nano)
	if form == "cri" {
		return at + " stderr " + tag + " " + text + "\n"
	}
	if tag == "F" {
		text += "\n"
	}
	return `{"log":` + quoted(text) + `,"stream":"stderr","time":"` + at + `"}` + "\n"
}
