// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"
)

// An event is wherever it is found: everything around it is a wrapper. The
// reader descends into the objects, arrays and strings of a wrapper, but never
// into an event, and never into members that hold arbitrary data, such as an
// input, nor into a line of a logger. Two exports have a member "result" that
// is a wrapper: Loki's beside a "resultType", and Splunk's beside a "preview".

// The limits of a wrapper.
const (
	maxLevels    = 10 // objects and arrays around an event
	maxDecodings = 3  // strings around an event, one in the other
	maxPrefixes  = 2  // prefixes of lines around an event, one behind the other
)

// nesting says how deep in wrappers a value is.
type nesting struct{ levels, decodings, prefixes int }

// index numbers the parsers. A parser is used again only when the object that
// it parsed before has been searched.
func (n nesting) index() int { return n.levels + n.decodings + n.prefixes }

const maxIndex = maxLevels + maxDecodings + maxPrefixes

func (n nesting) deeper() nesting { n.levels++; return n }

func (n nesting) decoded() nesting { n.decodings++; return n }

func (n nesting) prefixed() nesting { n.prefixes++; return n }

func (n nesting) tooDeep() bool {
	return n.levels > maxLevels || n.decodings > maxDecodings || n.prefixes > maxPrefixes
}

// record is an object that is searched for events.
type record struct {
	text    []byte
	line    int64
	taken   bool   // something in it was an event, broken, or text for a source
	speaker []byte // see appendSpeaker; nil until it is known
}

// readRecord looks for events in the object that p has parsed, and reports
// whether anything in it was of interest.
func (s *source) readRecord(p *parser, n nesting, text []byte) bool {
	return s.reader.withRecord(text, s.line(), func() { s.search(p, n.deeper(), text) })
}

// withRecord reads a record, which may be within another one, and reports
// whether anything in it was of interest.
func (r *Reader) withRecord(text []byte, line int64, read func()) (taken bool) {
	outer := r.record
	r.record = record{text: text, line: line}
	if outer.text == nil {
		r.losses = r.losses[:0]
	}
	read()
	taken = r.record.taken
	r.record = outer
	r.record.taken = outer.taken || taken
	return taken
}

// search looks for events in the object that p has parsed, and in its members.
func (s *source) search(p *parser, n nesting, text []byte) {
	r, start, several := s.reader, len(s.reader.candidates), s.reader.several
	isEvent, inEvent := p.isEvent(), s.reader.inEvent
	if n.tooDeep() {
		if isEvent {
			s.found(p, n, text)
		}
		return
	}
	if p.isLogged() {
		if inEvent {
			return
		}
		s.noteLoss(p)
		if slices.ContainsFunc(p.members, func(m member) bool { return hasEvent(p.json[m.start:m.end]) }) {
			r.record.taken = true
			s.problem(Logged, r.record.line)
		}
		return
	}
	r.inEvent = inEvent || isEvent
	members := slices.DeleteFunc(p.members, func(m member) bool { return !r.mayHold(p, &m, n, isEvent) })
	r.several = several || isEvent || len(members) > 1
	if isEvent {
		outer := n
		outer.levels--
		s.found(p, outer, text)
	}
	times := len(r.times)
	r.times = append(r.times, p.optional(fieldTimestamp), p.optional(fieldTime), p.optional(fieldStamp))
	for i := range members {
		m, from := &members[i], len(r.candidates)
		if value := p.json[m.start:m.end]; value[0] == '"' {
			s.readString(p, m, n)
		} else {
			taken, losses := r.record.taken, len(r.losses)
			r.record.taken = false
			s.readValue(value, p.name(m), p.checked, n)
			if !r.record.taken && len(r.losses) == losses {
				m.key.setBarren(value, n)
			}
			r.record.taken = r.record.taken || taken
		}
		r.merge(start, from)
	}
	r.times = r.times[:times]
	if isEvent {
		r.candidates = r.candidates[:start+1] // an event does not contain others
	}
	r.inEvent = inEvent
	if r.several = several; !several {
		r.deliverCandidates()
	}
}

// mayHold reports whether a member at the level n may hold an event, or a part
// of a text that waits. The fields of an event do not.
func (r *Reader) mayHold(p *parser, m *member, n nesting, inEvent bool) bool {
	field := m.key.field
	if field == fieldResult && !p.has(fieldExport) || inEvent && field < fieldNone {
		return false
	}
	value, waiting := p.json[m.start:m.end], len(r.waiting) > 0 && !r.inEvent
	if value[0] == '"' {
		return waiting || mayBegin(value[1:])
	}
	if waiting {
		return true
	}
	if n == m.key.barrenAt && bytes.Equal(value, m.key.barren) {
		return false
	}
	if !mayHoldEvent(value) {
		m.key.setBarren(value, n)
		return false
	}
	return true
}

// readValue looks for events in an object or array, at the level n.
func (s *source) readValue(value, name []byte, checked bool, n nesting) {
	r := s.reader
	if value[0] == '[' {
		s.readArray(value, name, n)
		return
	}
	p := &r.parsers[n.index()]
	p.checked = checked
	switch end := p.parse(value); {
	case end != len(value):
		if !r.inEvent && mayHoldEvent(value) {
			r.record.taken = true
			s.problem(InvalidJSON, r.record.line)
		}
	case p.isEvent() && !p.holdsMore:
		s.found(p, n, value)
	default:
		s.search(p, n.deeper(), value)
	}
}

// readArray looks for events in the elements of an array. Bytes that are
// written as numbers, as journald does, are a text.
func (s *source) readArray(value, name []byte, n nesting) {
	r := s.reader
	if text, ok := bytesOf(value); ok {
		s.readText(otherKey, name, text, n)
		return
	}
	if isPairs(value) {
		if object := r.parsers[n.index()].objectOf(value, maxLevels); object != nil {
			s.readValue(object, name, true, n)
			return
		}
	}
	if n = n.deeper(); n.tooDeep() {
		return
	}
	times, losses := len(r.times), len(r.losses)
	eachElement(value, func(e []byte) {
		r.losses = r.losses[:losses] // elements are different lines
		if text := bytes.TrimPrefix(e, quote); len(r.times) == times && isDigit(text[0]) {
			// A row may begin with its time.
			r.times = append(r.times, e)
		}
		switch e[0] {
		case '{', '[':
			s.readValue(e, name, true, n)
		case '"':
			if len(r.waiting) > 0 && !r.inEvent || mayBegin(e[1:]) {
				s.readText(otherKey, name, unescape(nil, e[1:len(e)-1]), n)
			}
		}
	})
	r.times = r.times[:times]
}

// readString reads the text in a member of the object that p has parsed.
func (s *source) readString(p *parser, m *member, n nesting) {
	if p.decodedAt != m.start {
		p.decodedAt = -1
		p.decoded = unescape(p.decoded[:0], p.json[m.start+1:m.end-1])
	}
	p.decoded = slices.Grow(p.decoded, len(newline))
	s.readText(m.key, p.name(m), p.decoded, n)
}

// name returns the name of a member, in quotes.
func (p *parser) name(m *member) []byte { return p.json[m.at:stringEnd(p.json, int(m.at))] }

// found delivers the event that p has parsed, or makes it a candidate if another
// place of the record may have the same event.
func (s *source) found(p *parser, n nesting, text []byte) {
	r := s.reader
	r.record.taken = true
	if line := r.record.line; r.several {
		r.addCandidate(p, n, text, line)
	} else {
		r.deliver(p, text, line)
	}
}

// mayBegin reports whether a text may hold an event, or begin one that goes on
// in the records that follow.
func mayBegin(text []byte) bool { return text[0] == '[' || bytes.IndexByte(text, '{') >= 0 }

// An object or array of a wrapper that holds an event, the beginning of one, or
// a line of OPA's decision logger contains one of these texts: the names of an
// event's members, the logger's name, escapes that may stand for them, the
// beginning of JSON in a string, or a brace as a number.
var (
	signs = [][]byte{[]byte("decision_id"), []byte("metrics"), []byte(`"decision_logs"`), []byte(`\u`), []byte(`"{`), []byte(`"[`), []byte("123,")}
	names = signs[:3]
)

func mayHoldEvent(text []byte) bool { return containsAny(text, signs) }

func containsAny(text []byte, words [][]byte) bool {
	return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(text, word) })
}

// longestBarren limits the length of a value without an event that a key
// remembers, in bytes. Most wrappers have the metadata of the wrapper before.
const longestBarren = 4 << 10

func (k *key) setBarren(value []byte, n nesting) {
	if k != otherKey && len(value) <= longestBarren {
		k.barren, k.barrenAt = append(k.barren[:0], value...), n
	}
}

// bytesOf returns the text that an array of numbers below 256 stands for.
func bytesOf(array []byte) (text []byte, ok bool) {
	if i := skipSpace(array, 1); !isDigit(array[i]) {
		return nil, false
	}
	ok = true
	eachElement(array, func(e []byte) {
		n, end := digitsAtEnd(e, 0)
		ok = ok && end == len(e) && n < 256
		text = append(text, byte(n))
	})
	return text, ok
}

// speakers are the members of a wrapper that name the process that has written
// the text in it. The lines of one text have the same speakers.
var speakers = []string{
	"stream", "pod", "pod_name", "podName", "pod_id", "container", "container_name", "containerName", "container_id", "host", "hostname",
	"instance", "logStream", "logStreamName", "unit", "_PID", "_HOSTNAME", "_SYSTEMD_UNIT",
	"name", "PodName", "ContainerName", "ContainerId", "Computer", "k8s.pod.name", "host.name", "alloc_id", "task", "file",
}

// appendSpeaker appends the values of speakers in a wrapper, down to a few
// levels.
func appendSpeaker(dst, object []byte, levels int) []byte {
	eachField(object, func(name, value []byte) {
		switch {
		case value[0] == '{' && levels > 0 && !fieldOf(name[1:len(name)-1]).isData():
			dst = appendSpeaker(dst, value, levels-1)
		case value[0] == '"' && len(name) < 20 && slices.Contains(speakers, string(name[1:len(name)-1])):
			dst = append(append(append(dst, name...), value...), 0)
		}
	})
	return dst
}
