// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/rollup"
)

// field is a top-level field of an event, or of what a container wraps it in.
type field uint8

const (
	fieldPath field = iota
	fieldQuery
	fieldTimestamp
	fieldResult
	fieldError
	fieldErased
	fieldMasked
	fieldLabels
	fieldBundles
	fieldRevision
	fieldMetrics
	fieldDecisionID
	fieldRequestedBy
	fieldInput
	fieldMsg
	// Of containers.
	fieldLog
	fieldMessage
	fieldEvent
	fieldStream
	// All others.
	fieldNone
)

func fieldOf(key []byte) field {
	switch string(key) {
	case "path":
		return fieldPath
	case "query":
		return fieldQuery
	case "timestamp":
		return fieldTimestamp
	case "result":
		return fieldResult
	case "error":
		return fieldError
	case "erased":
		return fieldErased
	case "masked":
		return fieldMasked
	case "labels":
		return fieldLabels
	case "bundles":
		return fieldBundles
	case "revision":
		return fieldRevision
	case "metrics":
		return fieldMetrics
	case "decision_id":
		return fieldDecisionID
	case "requested_by":
		return fieldRequestedBy
	case "input":
		return fieldInput
	case "msg":
		return fieldMsg
	case "log":
		return fieldLog
	case "message":
		return fieldMessage
	case "event":
		return fieldEvent
	case "stream":
		return fieldStream
	}
	return fieldNone
}

// parser reads the fields of a JSON object. It guesses which key comes next, by
// what followed the one before in other objects: where it is right it need not
// look a key up.
type parser struct {
	json   []byte // what the values are in
	values [fieldNone]span
	seen   uint32   // by field
	start  knownKey // before the first key of an object
	keys   []*knownKey
	// checked is whether a scanner has looked at the text before.
	checked bool

	metrics  *metrics
	problems []Problem // of the event
	scratch  []byte
	verdicts map[string]any
}

// span is a value's place in the text. It is empty if there is none, or null.
type span struct{ start, end int }

// knownKey is a key as it is written, with its quotes and colon.
type knownKey struct {
	text  string
	field field
	next  [2]*knownKey // that followed it: one is often optional
}

// mostKeys is how many keys are known.
const mostKeys = 64

// startsAt reports whether s is in text at i.
func startsAt(text []byte, i int, s string) bool {
	return len(text)-i >= len(s) && string(text[i:i+len(s)]) == s
}

// parse reads the object that begins at start, and returns the index behind it.
// It is -1 if the object does not end, is broken or may be nested too deep.
// What is not looked at may be broken all the same.
func (p *parser) parse(text []byte, start int) (end int) {
	p.json = text
	p.values = [fieldNone]span{}
	p.seen = 0
	p.metrics.measures = p.metrics.measures[:0]
	p.problems = p.problems[:0]
	p.scratch = p.scratch[:0]
	i := skipSpace(text, start+1)
	if i < len(text) && text[i] == '}' {
		return i + 1
	}
	key := &p.start
	for {
		switch first, second := key.next[0], key.next[1]; {
		case first != nil && startsAt(text, i, first.text):
			key = first
			i += len(first.text)
		case second != nil && startsAt(text, i, second.text):
			key = second
			i += len(second.text)
		default:
			if key, i = p.key(text, i, key); i < 0 {
				return -1
			}
		}
		f := key.field
		i = skipSpace(text, i)
		start := i
		switch {
		case f == fieldMetrics && i < len(text) && text[i] == '{':
			p.metrics.checked = p.checked
			i = p.metrics.parse(text, i, nil)
		default:
			i = valueEnd(text, i, p.checked)
		}
		if i < 0 {
			return -1
		}
		if f != fieldNone {
			p.set(f, start, i)
		}
		i = skipSpace(text, i)
		switch {
		case i >= len(text):
			return -1
		case text[i] == '}':
			return i + 1
		case text[i] != ',':
			return -1
		}
		i = skipSpace(text, i+1)
	}
}

// otherKey is a key that is not remembered, since there are many.
var otherKey = &knownKey{field: fieldNone}

// key reads the key at i, which follows another one, and returns the index
// behind the colon, or -1.
func (p *parser) key(text []byte, i int, before *knownKey) (*knownKey, int) {
	if i >= len(text) || text[i] != '"' {
		return nil, -1
	}
	end := stringEnd(text, i)
	if end < 0 {
		return nil, -1
	}
	colon := skipSpace(text, end)
	if colon >= len(text) || text[colon] != ':' {
		return nil, -1
	}
	written := text[i : colon+1]
	at := slices.IndexFunc(p.keys, func(k *knownKey) bool { return k.text == string(written) })
	var key *knownKey
	switch {
	case at >= 0:
		key = p.keys[at]
	case len(p.keys) < mostKeys && len(written) < 64:
		key = &knownKey{text: string(written), field: fieldOf(p.unquote(text[i:end]))}
		p.keys = append(p.keys, key)
	default:
		if f := fieldOf(p.unquote(text[i:end])); f != fieldNone {
			return &knownKey{field: f}, colon + 1
		}
		return otherKey, colon + 1
	}
	if before != otherKey {
		before.next = [2]*knownKey{key, before.next[0]}
	}
	return key, colon + 1
}

func (p *parser) set(f field, start, end int) {
	if bit := uint32(1) << f; p.seen&bit == 0 {
		p.seen |= bit
	} else if f < fieldLog {
		p.problems = append(p.problems, DuplicateKey)
	}
	p.values[f] = span{start, end}
	if f != fieldResult && isNull(p.json[start:end]) {
		p.values[f] = span{}
	}
}

// has reports whether the object has the field. null counts only as a result.
func (p *parser) has(f field) bool { return p.values[f].end > 0 }

func (p *parser) value(f field) []byte { return p.json[p.values[f].start:p.values[f].end] }

// object returns a field that is an object, as it is in the text, or nil.
func (p *parser) object(f field) []byte {
	if p.has(f) && p.value(f)[0] == '{' {
		return p.value(f)
	}
	return nil
}

// text returns what a field that is a string means, or nil.
func (p *parser) text(f field) []byte {
	if p.has(f) && p.value(f)[0] == '"' {
		return p.unquote(p.value(f))
	}
	return nil
}

func (p *parser) unquote(s []byte) []byte {
	meaning, scratch, valid := unquote(p.scratch, s)
	p.scratch = scratch
	if !valid && !slices.Contains(p.problems, InvalidUTF8) {
		p.problems = append(p.problems, InvalidUTF8)
	}
	return meaning
}

// isEvent reports whether the object is an event.
func (p *parser) isEvent() bool {
	id := p.has(fieldDecisionID)
	if !id && !(p.has(fieldLabels) && (p.has(fieldPath) || p.has(fieldQuery))) {
		return false
	}
	return !p.has(fieldMsg) || string(p.text(fieldMsg)) == "Decision Log"
}

// rootPath is the path of all documents at once.
var (
	rootPath  = []byte("(data)")
	queryPath = []byte(rollup.Query)
)

// event fills e with what was parsed.
func (p *parser) event(e *Event, metric func(key []byte) int32) {
	path := bytes.TrimPrefix(p.text(fieldPath), []byte{'/'})
	if len(bytes.Trim(path, "/")) == 0 {
		path = rootPath
		if len(p.text(fieldQuery)) > 0 {
			path = queryPath
		}
	}
	e.Path = path
	e.Time = rollup.NoTime
	if p.has(fieldTimestamp) {
		if ns, ok := parseTime(p.text(fieldTimestamp)); ok {
			e.Time = ns
		} else {
			p.problems = append(p.problems, BadTime)
		}
	}
	e.Outcome, e.Code = p.outcome()
	e.DecisionID, e.RequestedBy, e.Revision = p.text(fieldDecisionID), p.text(fieldRequestedBy), p.text(fieldRevision)
	e.Labels, e.Bundles = p.object(fieldLabels), p.object(fieldBundles)
	e.HasMetrics = p.object(fieldMetrics) != nil
	if e.HasMetrics {
		if p.metrics.unknown {
			p.metrics.parse(p.json, p.values[fieldMetrics].start, metric)
		}
		p.problems = append(p.problems, p.metrics.problems...)
	} else {
		p.metrics.measures = p.metrics.measures[:0]
		p.problems = append(p.problems, NoMetrics)
	}
	e.Measures = p.metrics.measures
}

// metrics reads the object of an event's metrics.
type metrics struct {
	known   map[string]*metric // by key
	start   metric             // before the first
	serial  uint64             // of the object that is read
	checked bool               // as the parser's

	measures []rollup.Measure
	total    int  // timers and counters of the object
	unknown  bool // there were keys that are not known
	problems []Problem
}

// metric is a key of metrics.
type metric struct {
	text   string // as it is written, with its quotes and colon
	counts bool   // it is a timer or a counter
	number int32
	serial uint64     // of the object that had it last
	at     int        // where its measure is, -1: nowhere
	next   [2]*metric // that followed it
}

const (
	// mostMetrics is how many timers and counters of an event are read, and
	// about how many keys are remembered.
	mostMetrics = 10_000
	// longestMetric is how long a key is that is remembered.
	longestMetric = 1024
)

// parse reads the object at i and returns the index behind it, or -1. If it
// meets keys that are not known, it asks number for their numbers, or, if that
// is nil, leaves them out and notes it.
func (m *metrics) parse(text []byte, i int, number func(key []byte) int32) (end int) {
	m.serial++
	m.measures, m.problems = m.measures[:0], m.problems[:0]
	m.total, m.unknown = 0, false
	if len(m.known) > mostMetrics {
		clear(m.known)
		m.start.next = [2]*metric{}
	}
	if i = skipSpace(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1
	}
	at := &m.start
	for {
		switch first, second := at.next[0], at.next[1]; {
		case first != nil && startsAt(text, i, first.text):
			at = first
			i += len(first.text)
		case second != nil && startsAt(text, i, second.text):
			at = second
			i += len(second.text)
		default:
			if at, i = m.key(text, i, at, number); i < 0 {
				return -1
			}
		}
		i = skipSpace(text, i)
		if at.counts {
			i = m.number(text, i, at)
		} else {
			i = valueEnd(text, i, m.checked)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(text, i)
		switch {
		case i >= len(text):
			return -1
		case text[i] == '}':
			m.compact()
			return i + 1
		case text[i] != ',':
			return -1
		}
		i = skipSpace(text, i+1)
	}
}

// noMetric is a key that is left alone, and not remembered.
var noMetric = &metric{}

// key reads the key at i, which follows another one, and returns the index
// behind its colon, or -1.
func (m *metrics) key(text []byte, i int, before *metric, number func(key []byte) int32) (*metric, int) {
	if i >= len(text) || text[i] != '"' {
		return nil, -1
	}
	end := stringEnd(text, i)
	if end < 0 {
		return nil, -1
	}
	colon := skipSpace(text, end)
	if colon >= len(text) || text[colon] != ':' {
		return nil, -1
	}
	name, _, _ := unquote(nil, text[i:end])
	at := m.known[string(name)]
	switch {
	case at != nil:
	case !isTimer(name) && !bytes.HasPrefix(name, []byte("counter_")):
		if len(m.known) >= 2*mostMetrics || len(name) > longestMetric {
			return noMetric, colon + 1
		}
		at = m.remember(name, &metric{text: string(text[i : colon+1])})
	case number == nil || len(name) > longestMetric || m.total >= mostMetrics:
		m.unknown = m.unknown || number == nil
		m.problemIf(number != nil, BadMetric)
		return noMetric, colon + 1
	default:
		at = m.remember(name, &metric{text: string(text[i : colon+1]), counts: true, number: number(name)})
	}
	if before != noMetric {
		before.next = [2]*metric{at, before.next[0]}
	}
	return at, colon + 1
}

func (m *metrics) remember(name []byte, at *metric) *metric {
	if m.known == nil {
		m.known = map[string]*metric{}
	}
	m.known[string(name)] = at
	return at
}

func isTimer(key []byte) bool {
	return bytes.HasPrefix(key, []byte("timer_")) && bytes.HasSuffix(key, []byte("_ns")) && len(key) > len("timer__ns")
}

// number reads a timer or counter at i and returns the index behind it, or -1.
func (m *metrics) number(text []byte, i int, at *metric) (end int) {
	value, end := int64(0), i
	for end < len(text) && isDigit(text[end]) && end-i < 18 {
		value = value*10 + int64(text[end]-'0')
		end++
	}
	ok := end > i && end < len(text) && (text[end] == ',' || text[end] == '}') && (text[i] != '0' || end == i+1)
	if !ok {
		if end = valueEnd(text, i, m.checked); end < 0 {
			return -1
		}
		value, ok = integer(text[i:end])
		m.problemIf(!ok, BadMetric)
		if ok && value < 0 {
			m.problemIf(true, NegativeMetric)
			ok = false
		}
	}
	if m.total++; m.total > mostMetrics {
		m.problemIf(true, BadMetric)
		return end
	}
	if at.serial == m.serial {
		m.problemIf(true, DuplicateKey)
		if at.at >= 0 {
			m.measures[at.at].Metric = noMeasure
		}
	}
	at.serial, at.at = m.serial, -1
	if ok && at.number >= 0 {
		at.at = len(m.measures)
		m.measures = append(m.measures, rollup.Measure{Metric: at.number, Value: value})
	}
	return end
}

// noMeasure is the metric of a measure that another one took the place of.
const noMeasure = -1

// compact takes out measures that others took the place of.
func (m *metrics) compact() {
	if slices.Contains(m.problems, DuplicateKey) {
		m.measures = slices.DeleteFunc(m.measures, func(x rollup.Measure) bool { return x.Metric == noMeasure })
	}
}

func (m *metrics) problemIf(wrong bool, p Problem) {
	if wrong && len(m.problems) < mostMetrics {
		m.problems = append(m.problems, p)
	}
}

// integer returns the value of a JSON number that is an integer of 64 bits, as
// 12, 12.0 or 1e3.
func integer(text []byte) (int64, bool) {
	if len(text) == 0 || text[0] != '-' && !isDigit(text[0]) {
		return 0, false
	}
	s := string(text)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if strings.Trim(s, "-0123456789") == "" {
		return 0, false // beyond 64 bits
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false // beyond 2^53, it may have been rounded
	}
	return int64(f), true
}
