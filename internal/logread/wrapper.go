// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
	"slices"
)

// An event is wherever it is found: everything around it is a wrapper. The
// reader descends into the objects, arrays and strings of a wrapper, but never
// into an event, and never into members that hold arbitrary data, such as an
// input, nor into a line of a logger. Two exports have a member "result" that
// is a wrapper: Loki's beside a "resultType", and Splunk's beside a "preview".

// take takes an object of a source that its parser has parsed, or another value,
// and reports whether anything in it was of interest.
func (f *finder) take(s *source, text []byte) bool {
	return f.withRecord(s, text, func() {
		if text[0] == '{' {
			f.readObject(s.nesting, text)
		} else {
			f.readValue(text, nil, s.nesting)
		}
	})
}

// withRecord reads a record, which may be within another one, and reports
// whether anything in it was of interest.
func (f *finder) withRecord(s *source, text []byte, read func()) (taken bool) {
	outer, times, before := f.source, len(f.times), f.taken
	f.source, s.record, s.speaker = s, text, nil
	if outer == nil {
		f.loss = 0
	}
	read()
	f.source, f.times = outer, f.times[:times]
	return f.taken > before
}

// search looks for events in the object that the parser of n has parsed, and in
// its members.
func (f *finder) search(n nesting, text []byte) {
	p := &f.parsers[n]
	start, several := len(f.candidates), f.several
	isEvent, inEvent := p.isEvent(), f.inEvent
	if p.has(fieldLevel) && !isEvent && !inEvent {
		f.noteLoss(p, text)
	}
	if p.isLogged() {
		if !inEvent && slices.ContainsFunc(p.members, func(m member) bool { return hasEvent(p.json[m.start:m.end]) }) {
			f.problem(Logged)
		}
		return
	}
	if p.has(fieldHits) && bytes.Contains(Field(p.json, "columns"), idKey) {
		f.problem(UnknownForm) // of the rows beside the columns, one may be an input
		return
	}
	f.inEvent = inEvent || isEvent
	members := slices.DeleteFunc(p.members, func(m member) bool { return !f.mayHold(p, m, isEvent) })
	f.several = several || isEvent || len(members) > 1
	if isEvent {
		f.found(n, text)
	}
	times := len(f.times)
	f.times = append(f.times, p.optional(fieldTimestamp), p.optional(fieldTime), p.optional(fieldStamp))
	for i := range members {
		m, from := &members[i], len(f.candidates)
		if p.decodedAt == m.start {
			f.readText(p.name(m), p.decoded, n+inValue)
		} else {
			f.readValue(p.json[m.start:m.end], p.name(m), n+inValue)
		}
		f.candidates = merge(f.candidates, start, from)
	}
	f.times = f.times[:times]
	if isEvent {
		f.candidates = f.candidates[:start+1] // an event does not contain others
	}
	f.inEvent = inEvent
	if f.several = several; !several {
		f.deliverCandidates()
	}
}

// mayHold reports whether a member may hold an event, or a part of a text that
// waits. The fields of an event do not, and neither does a path, an error or the
// like, which may have what a client has sent.
func (f *finder) mayHold(p *parser, m member, inEvent bool) bool {
	field := m.key.field
	if field == fieldFlat || field < fieldMsg || field == fieldError || field == fieldResult && !p.has(fieldExport) || inEvent && field < fieldNone {
		return false
	}
	value := p.json[m.start:m.end]
	return len(f.waiting) > 0 && !f.inEvent || value[0] == '"' && mayBegin(value[1:]) || value[0] != '"' && containsAny(value, signs)
}

// readValue looks for events in a value.
func (f *finder) readValue(value, name []byte, n nesting) {
	switch p := &f.parsers[n]; {
	case value[0] == '"':
		p.decoded, _ = decodeString(p.decoded[:0], value, 0)
		f.readText(name, p.decoded, n)
	case value[0] == '[':
		f.readArray(value, name, n)
	case value[0] == '{' && !f.readWhole(value, n):
		f.lose(value)
	}
}

// readWhole looks for events in a text if it is an object, and reports whether
// it is.
func (f *finder) readWhole(text []byte, n nesting) bool {
	if f.parsers[n].parse(text) != len(text) {
		return false
	}
	f.readObject(n, text)
	return true
}

// lose notes that a part of a value is broken, if events may be in it.
func (f *finder) lose(value []byte) {
	if !f.inEvent && containsAny(value, signs) {
		f.taken++
		f.source.lose(value)
	}
}

// problem notes a problem of the record.
func (f *finder) problem(kind Problem) {
	f.taken++
	f.source.problem(kind)
}

// readObject looks for events in the object that the parser of n has parsed.
func (f *finder) readObject(n nesting, text []byte) {
	switch p := &f.parsers[n]; {
	case p.isEvent() && (!p.holdsMore || n == maxNesting):
		f.found(n, text)
	case n < maxNesting:
		f.search(n, text)
	}
}

// readArray looks for events in the elements of an array. If some of them are
// plain text or numbers, the array is a row of a table, and not a list.
func (f *finder) readArray(value, name []byte, n nesting) {
	if object := objectIn(value); object[0] == '{' {
		f.readValue(object, name, n)
		return
	}
	if n += inValue; n > maxNesting {
		return
	}
	start, several, isRow, isFlat, times := len(f.candidates), f.several, false, false, len(f.times)
	rest := EachElement(value, func(e []byte) {
		isRow = isRow || e[0] != '{' && e[0] != '[' && bytes.IndexByte(e, '{') < 0
		isFlat = isFlat || metricsAlone.Match(e)
	})
	if isRow && isFlat { // one of its other elements is an input
		f.problem(UnknownForm)
		return
	}
	f.lose(rest)
	f.several = several || isRow
	EachElement(value, func(e []byte) {
		from := len(f.candidates)
		f.loss = 0 // elements are different lines
		switch text := bytes.TrimPrefix(e, []byte{'"'}); {
		case len(f.times) == times && isDigit(text[0]) && !mayBegin(text): // a row may begin with its time
			f.times = append(f.times, e)
		case e[0] != '"' || mayBegin(text) || len(f.waiting) > 0 && !f.inEvent:
			f.readValue(e, name, n)
		}
		if isRow {
			f.candidates = merge(f.candidates, start, from)
		}
	})
	f.times = f.times[:times]
	if f.several = several; isRow && !several {
		f.deliverCandidates()
	}
}

// metricsAlone matches the metrics of an event in an element of their own, also as
// Athena and DuckDB write them.
var metricsAlone = regexp.MustCompile(`^"?\{\s*\\?["']?(?:counter|histogram|timer)_`)

// dockerPart is the length of the parts into which docker splits a line, in
// bytes, if one that does not end with a character is cut before it.
const dockerPart = 16<<10 - 3

// readText reads the text of a member of the record. A line that docker has
// split goes on in the next record. All other texts end a line, even if they
// have no newline.
func (f *finder) readText(name, text []byte, n nesting) {
	if n += inText; n > maxNesting {
		return
	}
	if f.inEvent {
		// A copy is whole. It is no part of another one, and nothing in it is a problem.
		joinLines(text)
		if object, isLogged := embedded(text, f.parsers[n].parse); hasPrefix(object, "{") && !isLogged {
			f.readObject(n, object)
		}
		return
	}
	text, whole := bytes.CutSuffix(text, []byte{'\n'})
	f.give(name, text, whole || len(text) < dockerPart || isWhole(text, '{'), n)
}

// give reads a text of the record: a member with a name in quotes, or a line
// behind the name in its prefix. The text may continue a stream that waits, or
// begin one. whole says that a newline ends it, which text lacks.
func (f *finder) give(name, text []byte, whole bool, n nesting) {
	var stream *source
	if len(f.waiting) > 0 || f.names {
		full := f.streamName(name)
		if i := slices.IndexFunc(f.waiting, func(s *source) bool { return s.nesting == n && s.name == string(full) }); i >= 0 {
			stream = f.waiting[i]
		}
	}
	switch {
	case stream != nil:
		if whole && stream.open && isWhole(text, '{') { // the rest of the line before is lost
			f.feed(stream, nil, true)
		}
	case whole && hasPrefix(text, "{") && f.readWhole(text, n) || hasPrefix(name, `"`) && !mayBegin(text): // behind a prefix may be another one
		return
	}
	if stream == nil { // one that waits for nothing
		stream = &source{reader: f.reader, nesting: n, name: string(f.streamName(name))}
	}
	f.taken++
	f.feed(stream, text, whole)
}

// name returns the name of a member, in quotes.
func (p *parser) name(m *member) []byte { return p.json[m.at:valueEnd(p.json, int(m.at), false)] }

// found delivers the event that the parser of n has parsed, or makes it a
// candidate if another place of the record may have the same event.
func (f *finder) found(n nesting, text []byte) {
	p := &f.parsers[n]
	if f.taken++; f.several {
		f.candidates = append(f.candidates, candidate{identify(p), p.richness(int(n)), bytes.Clone(text), copyAll(f.times), f.source.line()})
	} else {
		f.reader.deliver(p, text, f.source.line(), f.times)
	}
}

// deliverCandidates delivers all candidates.
func (f *finder) deliverCandidates() {
	p := &f.parsers[len(f.parsers)-1]
	for _, c := range f.candidates {
		p.parse(c.text)
		f.reader.deliver(p, c.text, c.line, c.times)
	}
	clear(f.candidates)
	f.candidates = f.candidates[:0]
}

// mayBegin reports whether a text may hold an event, begin one that goes on in
// the records that follow, be a line of logfmt, or a part of CRI's.
func mayBegin(text []byte) bool {
	return hasPrefix(text, "[") || bytes.IndexByte(text, '{') >= 0 || hasPrefix(text, "time=") ||
		len(text) > 0 && isDigit(text[0]) && isTimePrefix(text)
}
