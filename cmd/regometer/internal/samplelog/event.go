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

// Forms are the names of all forms.
var Forms = []string{"console", "cri", "docker", "ndjson"}

// text returns the event in its form, without a container. OPA's logger sorts all
// fields. Log shippers have those of its EventV1 in order.
func (w *writer) text() []byte {
	text := unescaped(&w.event)
	if w.Form == "ndjson" {
		return text
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // it was written as JSON
	for name, value := range map[string]string{"level": "info", "msg": "Decision Log", "time": w.event.Timestamp.Format(time.RFC3339), "type": "openpolicyagent.org/decision_logs"} {
		fields[name] = json.RawMessage(`"` + value + `"`)
	}
	if w.event.Error != nil {
		fields["error"] = json.RawMessage(`"` + w.event.Error.text + `"`)
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

// wrap returns an event as the log's container has it.
func (w *writer) wrap(text []byte) (wrapped string) {
	if w.Form != "docker" && w.Form != "cri" {
		return string(text) + "\n"
	}
	const partBytes = 16 << 10 // where docker and containerd split a line
	for ; len(text) > partBytes; text = text[partBytes:] {
		wrapped += w.contained(string(text[:partBytes]), "P")
	}
	return wrapped + w.contained(string(text), "F")
}

// contained returns a part of a line as docker or containerd writes it. The tag
// is "P", for partial, if more of the line follows, or else "F", for full.
func (w *writer) contained(text, tag string) string {
	at := w.event.Timestamp.Format(time.RFC3339Nano)
	if w.Form == "cri" {
		return at + " stderr " + tag + " " + text + "\n"
	}
	if tag == "F" {
		text += "\n"
	}
	return `{"log":` + quoted(text) + `,"stream":"stderr","time":"` + at + `"}` + "\n"
}
