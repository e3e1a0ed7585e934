// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/verdicts"
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

// Label returns the value of a label, with escapes resolved, or nil.
func (e *Event) Label(name string) []byte {
	return textOf(Field(e.Labels, name))
}

// EachLabel calls f with each label, in the order of the text, with escapes
// resolved. The value is nil if it is not a string. The last of a repeated
// label counts.
func (e *Event) EachLabel(f func(name, value []byte)) {
	if hasPrefix(e.Labels, "{") {
		each(e.Labels, func(key, value []byte) { f(Meaning(key), textOf(value)) })
	}
}

// BundleRevisions returns name=revision of each bundle, sorted and joined by
// commas, or the revision of an OPA without named bundles. It is empty if the
// event has neither.
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
	if len(e.revisions) > 0 {
		return e.revisions
	}
	return e.Revision
}

// isEvent reports whether the object is an event: it has a decision id and at
// least one other field of events, or metrics, a path or a query, and either
// labels or the message of OPA's decision logs. A path or query may be null. An
// answer of OPA's API is none.
func (p *parser) isEvent() bool {
	const target = 1<<fieldPath | 1<<fieldQuery
	const others = 1<<fieldData - 1 - 1<<fieldDecisionID - 1<<fieldResult - 1<<fieldMetrics // which no answer of OPA's API has
	isEvent := p.has(fieldMetrics) && p.seen&target != 0 && p.present&(1<<fieldLabels|1<<fieldMsg) != 0 ||
		p.has(fieldDecisionID) && (p.seen&target != 0 || p.has(fieldLabels) || p.has(fieldMetrics) && !p.has(fieldResult) && p.present&others != 0)
	// A list of several ids is of a summary, and an object of columns or types.
	return isEvent && !p.begins(fieldDecisionID, '[') && !p.begins(fieldDecisionID, '{') && !p.hasOtherMessage()
}

// hasOtherMessage reports whether the object has a message that is not that of
// OPA's decision logs.
func (p *parser) hasOtherMessage() bool {
	return p.has(fieldMsg) && string(p.text(fieldMsg)) != "Decision Log"
}

// rootPath is the path of all documents at once.
var (
	rootPath  = []byte(outcome.AllData)
	queryPath = []byte(outcome.Query)
)

// event fills e with the fields of the parsed object. around has the times in
// the text around it.
func (p *parser) event(e *Event, around [][]byte) {
	path, query := bytes.TrimPrefix(p.text(fieldPath), []byte{'/'}), len(p.text(fieldQuery)) > 0
	if len(bytes.TrimLeft(path, "/")) == 0 {
		path = rootPath
		if query {
			path, query = p.reference()
		}
	}
	e.Path = path
	e.Time = p.findTime(around)
	e.Outcome, e.Code, e.Hidden = p.outcome(path, query)
	e.Input, e.Result, e.Cache = p.optional(fieldInput), p.optional(fieldResult), p.optional(fieldCache)
	e.Labels, e.Bundles, e.RuleLabels = p.optional(fieldLabels), p.optional(fieldBundles), p.optional(fieldRuleLabels)
	e.Erased, e.Masked = p.optional(fieldErased), p.optional(fieldMasked)
	e.DecisionID, e.RequestedBy, e.Revision = p.text(fieldDecisionID), p.text(fieldRequestedBy), p.text(fieldRevision)
	e.TraceID, e.SpanID = p.text(fieldTraceID), p.text(fieldSpanID)
	e.RequestID = 0
	if id, end := digits(p.optional(fieldRequestID), 0); end == len(p.optional(fieldRequestID)) {
		e.RequestID = uint64(id)
	}
	if !p.begins(fieldMetrics, '{') {
		p.metrics.begin()
		p.problems = append(p.problems, NoMetrics)
	}
	p.problems = append(p.problems, p.metrics.problems...)
	e.Damaged = slices.Contains(p.metrics.problems, BadMetric) || slices.Contains(p.metrics.problems, NegativeMetric)
	e.Measures = p.metrics.measures
}

// reference returns the path of a query without one, and whether it is an ad-hoc
// query. A plain reference is none: opa-envoy-plugin logs a path in this way, as
// data.envoy.authz.allow. A client of OPA must not choose paths, so a query that
// it may have sent stays one. Those of the Query API have a list of bindings or
// null as their result, which only a mask policy replaces. Those of the Compile
// API have a type.
func (p *parser) reference() (path []byte, isQuery bool) {
	result := p.optional(fieldResult)
	if result == nil || result[0] != 't' && result[0] != 'f' && (result[0] != '{' || p.flattened) || Field(p.optional(fieldCustom), "type") != nil ||
		p.hides(func(pointer string) bool { return pointer == "/result" }) {
		return queryPath, true
	}
	if query := p.text(fieldQuery); !bytes.Equal(query, p.query) {
		p.query, p.queryPath = bytes.Clone(query), queryPath
		if names := plainReference.FindSubmatch(query); names != nil {
			p.queryPath = []byte(strings.NewReplacer(`["`, "/", `"]`, "", ".", "/").Replace(string(names[1]))[1:])
		}
	}
	return p.queryPath, string(p.queryPath) == outcome.Query
}

// plainReference matches a reference to data by names alone.
var plainReference = regexp.MustCompile(`^data((?:\.[A-Za-z_]\w*|\["[^"\\/.\[\]]+"\])+)$`)

// findTime returns the time of an event. Without a valid timestamp, it is the
// time of OPA's line, or else that of the text around the event, of which the
// innermost is the last.
func (p *parser) findTime(around [][]byte) int64 {
	if ns, ok := p.second.parse(p.text(fieldTimestamp)); ok { // most often; by far the fastest way
		return ns
	}
	around = append(around, p.optional(fieldStamp), p.optional(fieldTime), p.optional(fieldTimestamp))
	for i, value := range slices.Backward(around) {
		ns, hasZone, ok := parseTime(unwrap(value))
		if !ok {
			continue
		}
		if own := len(around) - i; own == 2 && p.has(fieldMsg) {
			p.problems = append(p.problems, LineTime)
		} else if own > 1 {
			p.problems = append(p.problems, WrapperTime)
		}
		if !hasZone {
			p.problems = append(p.problems, NoZone)
		}
		return ns
	}
	if p.has(fieldTimestamp) {
		p.problems = append(p.problems, BadTime)
	}
	return NoTime
}

// outcome returns the outcome of the decision by the rules of package outcome,
// the code of its error, and whether a mask policy hides the outcome. query says
// that the decision is an ad-hoc query.
func (p *parser) outcome(path []byte, query bool) (o outcome.Outcome, code string, hidden bool) {
	if failure := p.optional(fieldError); failure != nil && !isEmpty(failure) {
		o, code = p.judge.of(nil, failure)
		return o, code, false
	}
	if query {
		path = queryPath
	}
	const hiding = 1<<fieldErased | 1<<fieldMasked
	if p.present&hiding != 0 && p.hides(p.judge.verdicts.Of(string(path)).IsHiddenBy) {
		return outcome.Neither, "", true
	}
	text := p.optional(fieldResult)
	if text != nil && p.metrics.quoted {
		text = jsonOf(fieldResult, text)
	}
	if text == nil && p.hasFlat {
		if o, _ = p.judge.of(path, []byte("[]")); o == outcome.Allowed { // the store may have left it out
			return outcome.Neither, "", true
		}
	}
	switch {
	case text == nil || text[0] == 'n':
		return outcome.Undefined, "", false
	case query && text[0] == '[':
		return verdicts.OfQuery(meaning(text)), "", false
	}
	o, _ = p.judge.of(path, text)
	return o, "", false
}

// hides reports whether a mask policy has removed or replaced one of some
// values.
func (p *parser) hides(isOne func(pointer string) bool) (hides bool) {
	for _, f := range [...]field{fieldErased, fieldMasked} {
		EachElement(p.optional(f), func(path []byte) {
			hides = hides || path[0] == '"' && isOne(string(Meaning(path)))
		})
	}
	return hides
}
