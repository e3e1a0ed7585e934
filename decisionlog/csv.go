// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import "bytes"

// A field of CSV may hold an event. In a quoted field, each quote is doubled,
// and newlines are allowed.

// csvText returns the text of the quoted field that begins at i, or nil if the
// field does not end.
func csvText(line []byte, i int) (text []byte) {
	for quoted := line[i+1:]; ; {
		before, after, ok := bytes.Cut(quoted, quote)
		if !ok {
			return nil
		}
		text = append(text, before...)
		if !hasPrefix(after, `"`) {
			return text
		}
		text, quoted = append(text, '"'), after[1:]
	}
}

// csvStart returns the index of the last field of a line, if it is quoted, goes
// on in the next line, and begins with an object. Otherwise it returns -1.
func csvStart(line []byte) int {
	i := bytes.LastIndex(line, []byte(`"{`))
	if i < 0 || i > 0 && line[i-1] != ',' {
		return -1
	}
	behind := bytes.TrimLeft(line[i+2:], " \t\r")
	if len(behind) > 0 && !hasPrefix(behind, `""`) || bytes.Count(behind, quote)%2 != 0 {
		return -1
	}
	return i
}

// csvField reads the line at i if its last field goes on in the next lines. It
// returns done if the field is an object, and broken if the line has no such
// field.
func (s *source) csvField(text []byte, i, eol int, end bool) (next int, st status) {
	rest := text[i:]
	rest = rest[:min(len(rest), s.reader.maxLength)]
	start := csvStart(rest[:min(eol-i, len(rest))])
	if start < 0 {
		return i, broken
	}
	at := max(s.scanner.pos, start+1)
	for {
		n := bytes.IndexByte(rest[at:], '"')
		if n < 0 || at+n+1 == len(rest) && !end {
			if !end && len(rest) < s.reader.maxLength {
				s.scanner.pos = at
				return i, more
			}
			break
		}
		if at += n; !hasPrefix(rest[at+1:], `"`) {
			break
		}
		at += 2
	}
	s.scanner.reset()
	p := &s.reader.parsers[s.index()]
	if object := csvText(rest, start); s.scanner.scan(object) == done && s.scanner.pos == len(object) {
		s.scanner.reset()
		p.checked = true
		if p.parse(object) == len(object) {
			s.parsed(p, s.nesting, object)
			s.skips = true
			return i + at + 1, done
		}
	}
	s.scanner.reset()
	if bytes.Contains(rest[:at], []byte("decision_id")) {
		s.problem(InvalidJSON, s.line())
		s.skips = true
		return eol, done
	}
	return i, broken
}
