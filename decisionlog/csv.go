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

// csvStart returns the index of the text in the last field of a line, if it is
// quoted, goes on in the next line, and begins with an object. Otherwise it
// returns 0.
func csvStart(line []byte) int {
	i, begin := -1, []byte(`"{`)
	for n := bytes.Index(line, begin); n >= 0; n = bytes.Index(line[i+1:], begin) { // bytes.LastIndex is slow
		i += n + 1
	}
	if i < 0 || i > 0 && line[i-1] != ',' {
		return 0
	}
	behind := bytes.TrimLeft(line[i+2:], " \t\r")
	if len(behind) > 0 && !hasPrefix(behind, `""`) || bytes.Count(behind, quote)%2 != 0 {
		return 0
	}
	return i + 1
}

// csvField reads the line at i, whose last field goes on in the next lines. It
// returns done if the field is an object, and broken if the line is not CSV.
func (s *source) csvField(text []byte, i int, end bool) (next int, st status) {
	rest := text[i:]
	rest = rest[:min(len(rest), s.reader.maxLength)]
	end = end || len(rest) == s.reader.maxLength
	at := max(s.scanner.pos, s.csv)
	for {
		if n := bytes.IndexByte(rest[at:], '"'); n >= 0 {
			at += n
		} else {
			at = len(rest)
		}
		if len(rest)-at < 2 && !end {
			s.scanner.pos = at
			return i, more
		}
		if !hasPrefix(rest[at:], `""`) {
			break
		}
		at += 2
	}
	object := csvText(rest, s.csv-1)
	s.csv, s.unquoted = 0, at
	s.scanner.reset()
	p := &s.reader.parsers[s.index()]
	if s.scanner.scan(object) == done && s.scanner.pos == len(object) {
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
		return i, done
	}
	return i, broken
}
