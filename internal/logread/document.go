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
	s.depth, s.document, s.within = s.depth+1, true, true
	return true
}

// documentStep reads the token at i in a document, unless it is an object. It
// does not check the order of tokens.
func (s *source) documentStep(text []byte, i int, end bool) (next int, ok bool) {
	s.within = true
	atEnd := func(i int) bool { return i == len(text) && !s.isAll(text[i:], end) }
	switch c := text[i]; c {
	case '[':
		s.depth++
		return i + 1, true
	case ']', '}':
		s.depth--
		s.document = s.depth > 0
		return i + 1, true
	case ',', ':':
		return i + 1, true
	case '"':
		next = stringEnd(text, i)
		colon := skipSpace(text, max(next, i))
		switch isShort := next < 0 && lineEnd(text, i) == len(text); {
		case (isShort || colon == len(text)) && !s.isAll(text[i:], end):
			return i, false
		case next > 0 && colon < len(text) && text[colon] == ':':
			if f := fieldOf(text[i+1 : next-1]); f.isData() && f != fieldResult { // no export has it
				s.breakOff(TooLong, text[i:i])
				return i, true
			}
		case isShort:
			s.breakOff(Truncated, text[i:i])
			return i, true
		case next > 0 && mayBegin(text[i+1:next]):
			f := &s.reader.finder
			meaning, _ := decodeString(nil, text, i)
			f.withRecord(s, text[i:next], func() { f.readText(quote, meaning, s.inBrackets()) })
		}
		if next > 0 {
			return next, true
		}
	default:
		if next = scalarEnd(text, i); atEnd(next) {
			return i, false
		} else if next > i {
			return next, true
		}
	}
	s.breakOff(InvalidJSON, text[i:i])
	return i, true
}
