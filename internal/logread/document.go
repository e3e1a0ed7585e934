// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

// An export may be one JSON document that is longer than an event may be, such
// as the answer to a search, or is cut. The reader does not collect it. It opens
// the document, and reads the values in it one by one.

// openDocument opens the object at the beginning of text, and reports whether
// it has done so. It opens only an object that a member of an export makes
// long: any other one may be an event, or turn out to be a line of a logger.
func (s *source) openDocument(p *parser, text []byte) bool {
	const ofOthers = 1<<fieldDecisionID | 1<<fieldLabels | 1<<fieldMetrics | 1<<fieldLevel | 1<<fieldMsg
	p.checked = true
	p.parse(text)
	isLong := p.cut == fieldHits || p.cut == fieldResult && p.has(fieldExport)
	if !isLong || p.present&ofOthers != 0 || text[p.cutAt] == '"' || s.inBrackets().tooDeep() {
		return false
	}
	s.brackets = append(s.brackets, '}')
	if s.inData() && s.data == 0 {
		s.data = len(s.brackets)
	}
	s.document, s.within, s.key, s.comma = true, true, nil, false
	return true
}

// inData reports whether the next value is, or is in, arbitrary data.
func (s *source) inData() bool { return s.data > 0 || s.key != nil && s.key.field.isData() }

// mostBrackets limits the brackets around a value in a document.
const mostBrackets = 10_000

// documentStep reads the token at i in a document, unless it is an object. It
// does not check the order of values, commas and colons.
func (s *source) documentStep(text []byte, i int, end bool) (next int, ok bool) {
	s.within = true
	switch c := text[i]; c {
	case '[':
		if len(s.brackets) == mostBrackets {
			break
		}
		if s.inData() && s.data == 0 {
			s.data = len(s.brackets) + 1
		}
		s.brackets, s.key, s.comma = append(s.brackets, ']'), nil, false
		return i + 1, true
	case ']', '}':
		if len(s.brackets) == 0 || s.brackets[len(s.brackets)-1] != c {
			break
		}
		s.brackets, s.key = s.brackets[:len(s.brackets)-1], nil
		if s.document, s.comma = len(s.brackets) > 0, len(s.brackets) > 0; len(s.brackets) < s.data {
			s.data = 0
		}
		return i + 1, true
	case ',':
		s.key, s.comma = nil, false
		return i + 1, true
	case ':':
		return i + 1, true
	case '"':
		return s.documentString(text, i, end)
	default:
		if next = scalarEnd(text, i); next > i && (next < len(text) || end) {
			return next, true
		} else if next > i && !s.isAll(text[i:], end) {
			return i, false
		}
	}
	s.breakOff(InvalidJSON, text[i:i])
	return i, true
}

// documentString reads a string in a document: a key or a value. What is behind
// it tells which.
func (s *source) documentString(text []byte, i int, end bool) (next int, ok bool) {
	next = stringEnd(text, i)
	colon := skipSpace(text, max(next, i))
	isShort := lineEnd(text, i) == len(text)
	switch {
	case !s.isAll(text[i:], end) && (next < 0 && isShort || colon == len(text)):
		return i, false
	case next < 0 && isShort:
		s.breakOff(Truncated, text[i:i])
		return i, true
	case next < 0:
		s.breakOff(InvalidJSON, text[i:i])
		return i, true
	case colon < len(text) && text[colon] == ':':
		name, _, _ := unquote(nil, text[i:next])
		s.key = &key{field: fieldOf(name)}
		if s.key.field == fieldExport {
			s.export = true
		} else if s.key.field == fieldResult && s.export {
			s.key.field = fieldNone
		}
	case !s.inData() && mayBegin(text[i+1:next]):
		f := &s.reader.finder
		meaning, _ := decodeString(nil, text, i)
		f.withRecord(s, text[i:next], func() { f.readText(otherKey, nil, meaning, s.inBrackets()) })
	}
	return next, true
}
