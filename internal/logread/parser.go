// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/regometer/regometer/outcome"
)

// field is a member of an event that the reader reads, or one of the classes
// below.
type field uint8

const (
	fieldPath field = iota // strings
	fieldQuery
	fieldTimestamp
	fieldRevision
	fieldDecisionID
	fieldRequestedBy
	fieldMsg
	fieldTraceID
	fieldSpanID
	fieldResult // other values
	fieldError
	fieldErased
	fieldMasked
	fieldLabels
	fieldBundles
	fieldMetrics
	fieldInput
	fieldRequestID
	fieldRuleLabels
	fieldData   // a member of an event, or of what surrounds it, that holds arbitrary data
	fieldCache  // as fieldData
	fieldExport // a member beside a "result" that is not an event's: see wrapper.go
	fieldCustom // as fieldData, but one member of it matters
	fieldLevel  // a member that a logger writes beside "msg"
	fieldTime   // the time of a line
	fieldStamp  // the time of a wrapper
	fieldNone   // any other member
	fieldHits   // a member of an export that may be longer than an event: see document.go
	fieldFlat   // a member of a field: see flat.go
	fieldCount
)

var fields = map[string]field{
	"path": fieldPath, "query": fieldQuery, "timestamp": fieldTimestamp, "result": fieldResult, "error": fieldError,
	"erased": fieldErased, "masked": fieldMasked, "labels": fieldLabels, "bundles": fieldBundles, "revision": fieldRevision,
	"metrics": fieldMetrics, "decision_id": fieldDecisionID, "requested_by": fieldRequestedBy, "msg": fieldMsg,
	"input": fieldInput, "trace_id": fieldTraceID, "span_id": fieldSpanID, "req_id": fieldRequestID, "rule_labels": fieldRuleLabels,
	"mapped_result": fieldData, "intermediate_results": fieldData, "nd_builtin_cache": fieldCache, "request_context": fieldData,
	"custom": fieldCustom, "req_body": fieldData, "resp_body": fieldData, "req_params": fieldData,
	"resultType": fieldExport, "preview": fieldExport, "level": fieldLevel,
	"time": fieldTime, "@timestamp": fieldStamp, "__REALTIME_TIMESTAMP": fieldStamp, "timeUnixNano": fieldStamp, "date": fieldStamp, "_time": fieldStamp,
	"ts": fieldStamp, "_messagetime": fieldStamp, "TimeGenerated": fieldStamp,
	"columns": fieldHits, "data": fieldHits, "entries": fieldHits, "events": fieldHits, "hits": fieldHits, "logEvents": fieldHits, "logRecords": fieldHits,
	"messages": fieldHits, "records": fieldHits, "resourceLogs": fieldHits, "results": fieldHits, "rows": fieldHits,
	"scopeLogs": fieldHits, "streams": fieldHits, "tables": fieldHits, "values": fieldHits,
}

func fieldOf(key []byte) field {
	key = asWritten(key)
	if f, ok := fields[string(key)]; ok {
		return f
	}
	switch {
	case isFlat(key):
		return fieldFlat
	case ofClient.Match(key):
		return fieldData
	}
	return fieldNone
}

// isData reports whether a member holds arbitrary data, which is never searched
// for events.
func (f field) isData() bool {
	return f == fieldData || f == fieldCache || f == fieldInput || f == fieldResult || f == fieldCustom
}

// parser reads the members of a JSON object. It guesses the next key from the
// keys that followed the one before in other objects. If the guess is right,
// the parser need not look up the key.
type parser struct {
	json []byte // the text that the values are in
	// Bits by field: the object has it; its value is not null; its value is a
	// string without escapes and of printable ASCII.
	seen, present, plain uint32
	flattened            bool // the object is a flattened event, which nested has as OPA writes it
	hasFlat              bool // some of its members are members of a field
	nested               []byte
	values               [fieldCount]span // of the fields that are present
	members              []member         // that may hold an event
	holdsMore            bool             // a member that is no field of an event may hold one
	lines                keyLines
	// If parse has failed, cutAt is where the broken value begins, and cut its
	// field. cutAt is -1 if no value is broken.
	cutAt int
	cut   field

	metrics  metrics
	problems []Problem // of the event

	judge  *judge
	second second

	query, queryPath []byte // the last query that may be a reference, and its path

	// The meaning of the string that begins at decodedAt.
	decoded   []byte
	decodedAt int32
}

// span is a value's place in the text of an object.
type span struct{ start, end int32 }

// member is a member of an object that may hold an event.
type member struct {
	key *key
	at  int32 // the index of the key
	span
}

// mostKeys limits the keys that a parser remembers.
const mostKeys = 64

// parse reads the object that text begins with, and returns the index behind
// it. It returns -1 if the object is broken or does not end in its line. A value
// that the parser skips may be broken all the same. The object must be much
// shorter than 2 GiB: see span.
func (p *parser) parse(text []byte) (end int) {
	end = p.parseMembers(text)
	isOdd := func(f field) bool { return p.begins(f, '"') || p.begins(f, '[') }
	p.hasFlat = p.seen>>fieldFlat&1 != 0
	if p.flattened = end > 0 && (p.hasFlat || isOdd(fieldMetrics) || isOdd(fieldLabels)); p.flattened {
		p.nested = p.appendNested(p.nested[:0], text[:end])
		p.parseMembers(p.nested)
	}
	return end
}

// begins reports whether the text of a field begins with c.
func (p *parser) begins(f field, c byte) bool { return p.has(f) && p.json[p.values[f].start] == c }

func (p *parser) parseMembers(text []byte) (end int) {
	p.json = text
	p.seen, p.present, p.plain = 0, 0, 0
	p.members, p.holdsMore = p.members[:0], false
	p.metrics.begin()
	p.problems = p.problems[:0]
	p.decodedAt = -1
	p.cut, p.cutAt = fieldNone, -1
	return p.walk(&p.lines, 0, nil)
}

// walk reads the members of the object at i, whose keys lines has, and returns
// the index behind it, or -1. If m is not nil, they are metrics.
func (p *parser) walk(lines *keyLines, i int, m *metrics) (end int) {
	text := p.json
	if lines.known == nil {
		lines.reset()
	}
	if i = skipBlanks(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1
	}
	at := &lines.start
	for skims := hasBlocks; ; {
		keyAt := i
		if skims {
			at, i = p.skim(lines, i, at, m)
		}
		if skims = hasBlocks && i == keyAt; i == keyAt { // where skim has stopped, it would stop again
			var start int
			if at, start = p.key(lines, i, at, m); start < 0 || start >= len(text) {
				return -1
			}
			if m != nil {
				i = m.member(text, at, start)
			} else {
				i = p.member(at, keyAt, start)
			}
			if i < 0 {
				return -1
			}
		}
		i = skipBlanks(text, i)
		if i < len(text) && text[i] == '}' {
			return i + 1
		}
		if i >= len(text) || text[i] != ',' {
			return -1
		}
		i = skipBlanks(text, i+1)
	}
}

// skim reads members as far as memberBlocks does. It returns the last key, and
// the index behind its value.
func (p *parser) skim(l *keyLines, i int, before *key, m *metrics) (at *key, end int) {
	spans := &p.values
	if m != nil {
		spans = nil
	}
	l.state = [memberWords]uint64{memberLine: uint64(before.line) * uint64(len(keyLine{})), memberSeen: uint64(p.seen), memberPlain: uint64(p.plain)}
	memberBlocks(&p.json[0], i, len(p.json), cap(p.json), &l.lines[0], spans, &l.found, &l.state)
	found := l.found[:l.state[memberFound]]
	if m != nil {
		m.take(p.json, found, l)
	} else {
		seen := uint32(l.state[memberSeen])
		p.present |= seen &^ p.seen
		p.seen, p.plain = seen, uint32(l.state[memberPlain])
		for _, x := range found {
			k := l.key(x[0])
			p.members = append(p.members, member{k, int32(x[1]), span{int32(x[2]), int32(x[3])}})
			p.holdsMore = p.holdsMore || k.field >= fieldNone && p.json[x[2]] != '"'
		}
	}
	if end = int(l.state[memberEnd]); end > 0 {
		return l.key(uint32(l.state[memberLine])), end
	}
	return before, i
}

// member reads a member whose value begins at start. It returns the index behind
// the value, or -1.
func (p *parser) member(at *key, keyAt, start int) (end int) {
	text, plain, isText := p.json, false, p.json[start] == '"'
	switch {
	case isText && at.field >= fieldNone: // it may hold JSON
		p.decoded, end = decodeString(p.decoded[:0], text, start)
		p.decodedAt = int32(start)
	case isText:
		end, plain = stringEnd(text, start)
	case text[start] == '{' && at.field == fieldMetrics:
		p.metrics.begin()
		end = p.walk(&p.metrics.lines, start, &p.metrics)
	default:
		end = valueEnd(text, start, true)
	}
	if end < 0 {
		p.cut, p.cutAt = at.field, start
		return -1
	}
	f := at.field
	if f != fieldNone {
		p.set(f, start, end, plain)
	}
	// JSON in a string has quotes, which are escaped.
	isEscaped := isText && !plain && bytes.IndexByte(text[start:end], '\\') >= 0
	mayHold := text[start] == '{' || text[start] == '[' || isEscaped || isText && (f >= fieldNone || f == fieldMsg)
	if mayHold && (!f.isData() || f == fieldResult) {
		p.members = append(p.members, member{at, int32(keyAt), span{int32(start), int32(end)}})
		p.holdsMore = p.holdsMore || f >= fieldNone && (!isText || isEscaped)
	}
	return end
}

// key reads the key at i, which follows the key before, and returns the index
// of its value, or -1.
func (p *parser) key(lines *keyLines, i int, before *key, m *metrics) (k *key, start int) {
	text := p.json
	if k = lines.guess(text, i, before); k != nil {
		return k, skipBlanks(text, i+len(k.text))
	}
	end, colon := keyEnd(text, i)
	if end < 0 {
		return nil, -1
	}
	name, _ := unquote(text[i:end]) // no field's, if it is not UTF-8
	if k = lines.known[string(name)]; k == nil {
		if k = otherKey; m != nil {
			k = m.newKey(name)
		} else if f := fieldOf(name); f != fieldNone || len(lines.known) < mostKeys {
			k = &key{field: f, line: otherLine}
		}
		if k != otherKey && (m != nil || len(lines.known) < mostKeys) {
			k.text = string(text[i:colon])
			lines.add(k, name)
		}
	}
	lines.follow(before, k)
	return k, skipBlanks(text, colon)
}

func (p *parser) set(f field, start, end int, plain bool) {
	bit := uint32(1) << f
	if p.seen&bit != 0 && f < fieldData {
		p.problems = append(p.problems, DuplicateKey)
	}
	p.seen, p.present, p.plain = p.seen|bit, p.present|bit, p.plain&^bit
	if plain {
		p.plain |= bit
	}
	p.values[f] = span{int32(start), int32(end)}
	if p.json[start] == 'n' && f != fieldResult {
		p.present &^= bit
	}
}

// has reports whether the object has the field. null counts only as a result.
func (p *parser) has(f field) bool { return p.present>>f&1 != 0 }

// optional returns a field as it is in the text, or nil.
func (p *parser) optional(f field) []byte {
	if p.has(f) {
		return p.json[p.values[f].start:p.values[f].end]
	}
	return nil
}

// text returns what a field that is a string means, or nil.
func (p *parser) text(f field) []byte {
	if p.plain>>f&1 != 0 {
		return p.json[p.values[f].start+1 : p.values[f].end-1]
	}
	if p.begins(f, '"') {
		meaning, valid := unquote(p.optional(f))
		if !valid && !slices.Contains(p.problems, InvalidUTF8) {
			p.problems = append(p.problems, InvalidUTF8)
		}
		return meaning
	}
	return nil
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
	if result == nil || result[0] != 't' && result[0] != 'f' && (result[0] != '{' || p.flattened) || fieldIn(p.optional(fieldCustom), "type") != nil ||
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
