// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"slices"
)

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

// member is a member of an object that may hold an event.
type member struct {
	key *key
	at  int32 // the index of the key
	span
}

// mostKeys limits the keys that a parser remembers.
const mostKeys = 64

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
