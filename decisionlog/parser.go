// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"
	"unicode/utf8"

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
	json []byte // what the values are in
	// Bits by field: there was one, it has a value that is not null, and that
	// is a string that means what it says.
	seen, present, plain uint32
	values               [fieldNone + 1]span // of those that are present
	start                key                 // before the first key of an object
	keys                 []*key
	// checked is whether a scanner has looked at the text before. If not, what
	// is read is in one line.
	checked bool
	// inBlocks is whether members may be read by blocks of 64 bytes.
	inBlocks bool

	metrics  metrics
	problems []Problem // of the event
	scratch  []byte
	clock    clock
	results  [results]judgedResult

	// What the string means that was the last value of a container's field, and
	// which one.
	decoded   []byte
	isDecoded field
}

// span is a value's place in the text of an object.
type span struct{ start, end int32 }

// prefetchAhead is how far ahead memory is asked for: text that is mapped, and
// not in a cache, comes too late by itself.
const prefetchAhead = 2048

// margin is how many bytes there have to be from where a member begins, for
// readMembers: its key, the first block of its value and what follows.
const margin = 192

// mostKeys is how many keys are known.
const mostKeys = 64

// parse reads the object that text begins with, and returns the index behind
// it. It is -1 if the object does not end, is broken, may be nested too deep or
// has a newline and was not checked. What is not looked at may be broken all
// the same. The object is much shorter than 2 GiB: see span.
func (p *parser) parse(text []byte) (end int) {
	p.json = text
	p.seen, p.present, p.plain = 0, 0, 0
	p.metrics.reset()
	p.problems = p.problems[:0]
	p.scratch = p.scratch[:0]
	p.isDecoded = fieldNone
	if !p.inBlocks && len(text) > prefetchAhead {
		prefetch(&text[prefetchAhead])
	}
	i := skipIn(text, 1, p.checked)
	if i < len(text) && text[i] == '}' {
		return i + 1
	}
	room := len(text)
	if text[room-1] == '\n' { // behind which nothing is taken for part of a line
		room = cap(text)
	}
	at := &p.start
	for {
		if p.inBlocks && !p.checked {
			var whole bool
			if i, at, whole = readMembers(p, &text[0], i, room, at); whole {
				return i
			}
			i = skipIn(text, i, false)
		}
		if guess := at.guess(text, i); guess != nil {
			at = guess
			i += len(at.text)
		} else if at, i = p.key(text, i, at); i < 0 {
			return -1
		}
		i = skipIn(text, i, p.checked)
		if i >= len(text) {
			return -1
		}
		f, start, plain := at.field, i, false
		switch c := text[i]; {
		case c == '"':
			if i = plainEnd(text, start); i >= 0 {
				plain = true
			} else if f >= fieldLog && f < fieldNone {
				p.decoded, i = decodeString(p.decoded[:0], text, start)
				p.isDecoded = f
			} else {
				i = stringEnd(text, start)
			}
		case c == '{' && f == fieldMetrics:
			p.metrics.checked = p.checked
			i = p.metrics.parse(text, i, nil)
		default:
			i = valueEnd(text, i, p.checked)
		}
		if i < 0 {
			return -1
		}
		if f != fieldNone {
			p.set(f, start, i, plain)
		}
		i = skipIn(text, i, p.checked)
		switch {
		case i >= len(text):
			return -1
		case text[i] == '}':
			return i + 1
		case text[i] != ',':
			return -1
		}
		i = skipIn(text, i+1, p.checked)
	}
}

// key reads the key at i, which follows another one, and returns the index
// behind the colon, or -1.
func (p *parser) key(text []byte, i int, before *key) (*key, int) {
	end, colon := keyEnd(text, i, p.checked)
	if end < 0 {
		return nil, -1
	}
	written := text[i:colon]
	at := slices.IndexFunc(p.keys, func(k *key) bool { return k.text == string(written) })
	var found *key
	if at >= 0 {
		found = p.keys[at]
	} else {
		name, _, _ := unquote(nil, text[i:end]) // no field's, if it is not UTF-8
		f := fieldOf(name)
		switch {
		case len(p.keys) < mostKeys && len(written) < 64:
			found = newKey(written)
			found.setField(f)
			p.keys = append(p.keys, found)
		case f != fieldNone:
			return &key{field: f}, colon
		default:
			return otherKey, colon
		}
	}
	before.precedes(found)
	return found, colon
}

func (p *parser) set(f field, start, end int, plain bool) {
	bit := uint32(1) << f
	if p.seen&bit != 0 {
		if f < fieldLog {
			p.problems = append(p.problems, DuplicateKey)
		}
		p.plain &^= bit
		if plain && p.isDecoded == f {
			p.isDecoded = fieldNone
		}
	}
	p.seen |= bit
	p.present |= bit
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
	if p.plain>>f&1 != 0 {
		return p.json[p.values[f].start+1 : p.values[f].end-1]
	}
	if p.has(f) && p.value(f)[0] == '"' {
		return p.unquote(p.value(f))
	}
	return nil
}

// hasText reports whether a field is a string that is not empty.
func (p *parser) hasText(f field) bool {
	if !p.has(f) || p.value(f)[0] != '"' {
		return false
	}
	if p.plain>>f&1 == 0 {
		p.checkUTF8(utf8.Valid(p.value(f)))
	}
	return len(p.value(f)) > len(`""`)
}

func (p *parser) unquote(s []byte) []byte {
	meaning, scratch, valid := unquote(p.scratch, s)
	p.scratch = scratch
	p.checkUTF8(valid)
	return meaning
}

func (p *parser) checkUTF8(valid bool) {
	if !valid && !slices.Contains(p.problems, InvalidUTF8) {
		p.problems = append(p.problems, InvalidUTF8)
	}
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
	rootPath  = []byte(rollup.AllData)
	queryPath = []byte(rollup.Query)
)

// event fills e with what was parsed.
func (p *parser) event(e *Event, metric func(key []byte) int32) {
	path, query := p.text(fieldPath), p.hasText(fieldQuery)
	if len(path) > 0 && path[0] == '/' {
		if path = path[1:]; len(bytes.TrimLeft(path, "/")) == 0 {
			path = nil
		}
	}
	if len(path) == 0 {
		path = rootPath
		if query {
			path = queryPath
		}
	}
	e.Path = path
	e.Time = NoTime
	if p.has(fieldTimestamp) {
		if ns, ok := p.clock.parse(p.text(fieldTimestamp)); ok {
			e.Time = ns
		} else {
			p.problems = append(p.problems, BadTime)
		}
	}
	e.Outcome, e.Code = p.outcome(query)
	e.DecisionID, e.RequestedBy, e.Revision = p.text(fieldDecisionID), p.text(fieldRequestedBy), p.text(fieldRevision)
	e.Labels, e.Bundles = p.object(fieldLabels), p.object(fieldBundles)
	e.HasMetrics = p.object(fieldMetrics) != nil
	if e.HasMetrics {
		if p.metrics.unknown {
			p.metrics.parse(p.json, int(p.values[fieldMetrics].start), metric)
		}
		p.problems = append(p.problems, p.metrics.problems...)
	} else {
		p.metrics.measures = p.metrics.measures[:0]
		p.problems = append(p.problems, NoMetrics)
	}
	e.Measures = p.metrics.measures
}
