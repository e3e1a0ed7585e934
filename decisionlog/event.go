// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"

	"github.com/regometer/regometer/rollup"
)

// Event is a decision, as a decision log has it. What it points to is the
// reader's, and holds until the function that was called with it returns.
type Event struct {
	Line int64 // where it begins in the file, from 1

	// Path is the path without its leading slash, with escapes resolved;
	// [rollup.Query] for an ad-hoc query, and "(data)" for the whole document.
	Path []byte
	// Time is that of "timestamp", in ns since 1970, or NoTime.
	Time    int64
	Outcome rollup.Outcome
	Code    string // OPA's code of the error, if Outcome is rollup.Error

	DecisionID, RequestedBy, Revision []byte // with escapes resolved
	TraceID                           []byte // of OpenTelemetry, with escapes resolved
	// Labels and Bundles are the JSON objects as they are in the text, or nil.
	// Label and BundleRevisions look into them.
	Labels, Bundles []byte

	// Measures are the timers and counters that are integers of 64 bits, not
	// negative, each once; the last one where the text has several.
	Measures []Measure
	// HasMetrics is whether there was a "metrics" object.
	HasMetrics bool

	revisions *bundleRevisions
}

// NoTime is the time of a decision that has none.
const NoTime = -1 << 63

// Measure is a timer or counter of a decision, by number.
type Measure struct {
	Metric int32 // as Options.Metric returned it
	Value  int64
}

// Label returns the value of a label, with escapes resolved, or nil.
func (e *Event) Label(name string) (value []byte) {
	e.EachLabel(func(key, v []byte) {
		if string(key) == name {
			value = v
		}
	})
	return value
}

// EachLabel calls f with each label, in the order of the text, with escapes
// resolved. The value is nil if it is no text. Of a label that is there twice
// the last one counts.
func (e *Event) EachLabel(f func(name, value []byte)) {
	if e.Labels == nil {
		return
	}
	eachField(e.Labels, func(key, v []byte) {
		name, _, _ := unquote(nil, key)
		var value []byte
		if v[0] == '"' {
			value, _, _ = unquote(nil, v)
		}
		f(name, value)
	})
}

// BundleRevisions returns name=revision of each bundle, sorted, joined by
// commas, or the revision of an OPA without named bundles; nil if there is
// none.
func (e *Event) BundleRevisions() []byte {
	r := e.revisions
	if r == nil {
		r = &bundleRevisions{}
	}
	if r.text == nil || !bytes.Equal(r.bundles, e.Bundles) {
		r.bundles = append(r.bundles[:0], e.Bundles...)
		r.text = r.of(e.Bundles)
	}
	switch {
	case len(r.text) > 0:
		return r.text
	case len(e.Revision) > 0:
		return e.Revision
	}
	return nil
}

// bundleRevisions remembers the last bundles and what their revisions are:
// mostly the next event has the same.
type bundleRevisions struct {
	bundles, text []byte // text is not nil once there was an event
}

func (*bundleRevisions) of(bundles []byte) []byte {
	var names []string
	revisions := map[string]string{}
	if len(bundles) > 0 {
		eachField(bundles, func(key, value []byte) {
			name, _, _ := unquote(nil, key)
			revision := ""
			if value[0] == '{' {
				eachField(value, func(key, value []byte) {
					if k, _, _ := unquote(nil, key); string(k) == "revision" && value[0] == '"' {
						v, _, _ := unquote(nil, value)
						revision = string(v)
					}
				})
			}
			if _, ok := revisions[string(name)]; !ok {
				names = append(names, string(name))
			}
			revisions[string(name)] = revision
		})
	}
	slices.Sort(names)
	text := []byte{}
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), '='), revisions[name]...)
	}
	return text
}
