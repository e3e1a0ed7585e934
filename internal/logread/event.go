// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/regometer/regometer/outcome"
)

// Event is a decision in a log. Its slices belong to the reader, and are valid
// until Options.Event returns.
type Event struct {
	Line int64 // the line of the file where it begins, from 1

	// Path is the path without its leading slash, with escapes resolved. It is
	// [outcome.Query] for an ad-hoc query, and "(data)" for the whole document.
	Path []byte
	// Time is the event's "timestamp", in ns since 1970, or else another time,
	// with the problem LineTime or WrapperTime, or NoTime.
	Time    int64
	Outcome outcome.Outcome
	Code    string // OPA's code of the error, if Outcome is outcome.Failed
	Hidden  bool   // a mask policy hides the result, or a table lacks it; the outcome is outcome.Neither
	Damaged bool   // a timer or counter is not a 64-bit integer of 0 or more
	// Text is the event's JSON as it is in the text, without escapes if that was
	// in a string. The others are its values, or nil. Cache is
	// "nd_builtin_cache".
	Text, Input, Result, Cache, Erased, Masked []byte

	DecisionID, RequestedBy, Revision []byte // with escapes resolved
	TraceID, SpanID                   []byte // of OpenTelemetry, with escapes resolved
	RequestID                         uint64 // "req_id", which counts requests of a server, or 0
	// Labels and Bundles are JSON as it is in the text, or nil. Label and
	// BundleRevisions look into them.
	Labels, Bundles []byte
	// RuleLabels is JSON as it is in the text, or nil: a list of the labels of
	// the rules that took part in the decision. OPA takes them from annotations.
	RuleLabels []byte

	// Measures are the timers and counters that are 64-bit integers of 0 or
	// more, each once. The first of a repeated metric counts.
	Measures []Measure

	of, revisions []byte // what BundleRevisions has returned for some bundles
}

// NoTime is the time of a decision for which a log has no valid time.
const NoTime = -1 << 63

// Measure is a timer or counter of a decision, by number.
type Measure struct {
	Metric int32 // as Options.Metric returned it
	Value  int64
}

// Label returns the value of a label, with escapes resolved, or nil.
func (e *Event) Label(name string) []byte {
	return textOf(fieldIn(e.Labels, name))
}

// EachLabel calls f with each label, in the order of the text, with escapes
// resolved. The value is nil if it is not a string. The last of a repeated
// label counts.
func (e *Event) EachLabel(f func(name, value []byte)) {
	eachField(e.Labels, func(key, value []byte) { f(Meaning(key), textOf(value)) })
}

// Field returns the value at the names of members of JSON objects, or at the
// indexes of elements of lists, from the outside inwards, as it is in the text,
// or nil.
func Field(text []byte, names ...string) (value []byte) {
	for _, name := range names {
		text = fieldIn(text, name)
	}
	return text
}

// fieldIn returns the value of a member of an object, or of an element of a list
// by its index, or nil.
func fieldIn(text []byte, name string) (value []byte) {
	eachField(text, func(key, v []byte) {
		if string(Meaning(key)) == name {
			value = v
		}
	})
	i := 0
	EachElement(text, func(v []byte) {
		if strconv.Itoa(i) == name {
			value = v
		}
		i++
	})
	return value
}

// Meaning returns a string with its escapes resolved, and other JSON as it is.
func Meaning(value []byte) []byte {
	if hasPrefix(value, `"`) {
		value, _ = unquote(value)
	}
	return value
}

// BundleRevisions returns name=revision of each bundle, sorted and joined by
// commas, or the revision of an OPA without named bundles. It returns nil if
// the event has neither.
func (e *Event) BundleRevisions() []byte {
	if !bytes.Equal(e.of, e.Bundles) { // most events have those of the event before
		e.of, e.revisions = append(e.of[:0], e.Bundles...), e.revisions[:0]
		var fields map[string]map[string]any
		_ = json.Unmarshal(e.Bundles, &fields) // what is not an object has no revision
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			revision, _ := fields[name]["revision"].(string)
			e.revisions = append(append(append(append(e.revisions, name...), '='), revision...), ',')
		}
		e.revisions = bytes.TrimSuffix(e.revisions, []byte{','})
	}
	switch {
	case len(e.revisions) > 0:
		return e.revisions
	case len(e.Revision) > 0:
		return e.Revision
	}
	return nil
}
