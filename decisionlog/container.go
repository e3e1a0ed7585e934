// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"
)

// dockerPart is how long the parts are into which docker splits a line.
const dockerPart = 16 << 10

// wrapped returns the field that an event would be in if the object is what a
// container made of it, and its value.
func (p *parser) wrapped() (field, []byte) {
	for _, f := range [...]field{fieldEvent, fieldLog, fieldMessage} {
		if p.has(f) {
			if v := p.value(f); v[0] == '{' || v[0] == '"' {
				return f, v
			}
		}
	}
	return fieldNone, nil
}

// unwrapObject reads an object inside that of a container.
func (s *source) unwrapObject(text []byte, line int64) {
	inner := &s.reader.spare[s.depth+1]
	*inner = source{reader: s.reader, depth: s.depth + 1, last: line, indent: noIndent, started: inner.started[:0]}
	inner.read(text, true)
}

// unwrapString reads a string inside the object of a container. Docker ends a
// line by a newline, other containers leave it out.
func (s *source) unwrapString(p *parser, f field, value []byte) {
	r := s.reader
	stream := p.text(fieldStream)
	if p.isDecoded != f {
		p.decoded = unescape(p.decoded[:0], value[1:len(value)-1])
	}
	// Text that is read by blocks should not end where memory does.
	p.decoded = slices.Grow(p.decoded, len(newline)+margin)
	text := p.decoded
	if len(text) == 0 || text[len(text)-1] != '\n' {
		if f == fieldLog && s.isPart(stream, text) {
			r.feed(s, stream, text, s.line())
			return
		}
		if r.hasPart(s, stream) && wholeObject(text) {
			r.feed(s, stream, newline, s.line())
		}
		text = append(text, '\n')
		p.decoded = text
	}
	r.feed(s, stream, text, s.line())
}

// isPart reports whether docker goes on with this text, which has no newline at
// its end, in a later line.
func (s *source) isPart(stream, text []byte) bool {
	if len(text) >= dockerPart {
		return true
	}
	if wholeObject(text) {
		return false
	}
	return s.reader.hasPart(s, stream) || len(text) > 0 && text[0] == '{'
}

// wholeObject reports whether the text is a JSON object.
func wholeObject(text []byte) bool {
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	var s scanner
	return s.scan(text) == done && skipSpace(text, s.pos) == len(text)
}

// unwrap reads what follows the prefix of a line: part of a line, or the last
// of it.
func (s *source) unwrap(stream, rest []byte, part, ended bool) {
	line := s.line()
	switch {
	case part && len(rest) == 0:
		return
	case part:
	case len(rest) == 0:
		rest = newline
	case ended:
		rest = rest[:len(rest)+1] // the newline of the line itself
	default:
		rest = append(append(s.reader.buffers[s.depth][:0], rest...), '\n')
		s.reader.buffers[s.depth] = rest
	}
	s.reader.feed(s, stream, rest, line)
}

// cutPrefix cuts what a container writes before each line: CRI's time, stream
// and tag, the time alone, the names of docker compose or of kubectl. It
// returns what tells streams apart, and whether the line goes on in a later
// one.
func cutPrefix(line []byte) (stream, rest []byte, part, ok bool) {
	line = skipColor(line)
	if len(line) == 0 {
		return nil, nil, false, false
	}
	switch c := line[0]; {
	case c == '[':
		name, rest, ok := bytes.Cut(line[1:], []byte("] "))
		if ok && bytes.IndexByte(name, '/') > 0 && bytes.IndexByte(name, ' ') < 0 {
			return name, skipColor(rest), false, true
		}
	case isTimePrefix(line):
		_, rest, _ := bytes.Cut(line, []byte{' '})
		stream, tagged, ok := bytes.Cut(rest, []byte{' '})
		if ok && (string(stream) == "stdout" || string(stream) == "stderr") {
			if tag, rest, _ := bytes.Cut(tagged, []byte{' '}); len(tag) > 0 && (tag[0] == 'P' || tag[0] == 'F') {
				return stream, rest, tag[0] == 'P', true
			}
		}
		return nil, rest, false, true
	default:
		n := 0
		for n < len(line) && isNameByte(line[n]) {
			n++
		}
		rest := bytes.TrimLeft(line[n:], " ")
		if n > 0 && len(rest) > 0 && rest[0] == '|' {
			return line[:n], skipColor(bytes.TrimPrefix(skipColor(rest[1:]), []byte{' '})), false, true
		}
	}
	return nil, nil, false, false
}

// isTimePrefix reports whether a line begins with a time of RFC 3339 and a
// blank.
func isTimePrefix(line []byte) bool {
	end := bytes.IndexByte(line[:min(len(line), 40)], ' ')
	if end < len("2006-01-02T15:04:05Z") {
		return false
	}
	_, ok := parseTime(line[:end])
	return ok
}

// skipColor cuts a terminal's sequence for a color.
func skipColor(line []byte) []byte {
	if len(line) > 1 && line[0] == '\x1b' && line[1] == '[' {
		if end := bytes.IndexByte(line[:min(len(line), 16)], 'm'); end > 0 {
			return line[end+1:]
		}
	}
	return line
}

func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '-' || c == '_' || c == '.'
}

// skipBlank returns the index of the next byte that is neither blank nor end a
// line. So are the zeros that a log has where it was truncated while it was
// written, and the byte order mark.
func skipBlank(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == 0:
			i++
		case c == 0xef && len(text)-i >= 3 && text[i+1] == 0xbb && text[i+2] == 0xbf:
			i += 3
		default:
			return i
		}
	}
	return i
}

// isObject reports whether the brace that text begins with opens a JSON object:
// done, or else broken, or more if that cannot be told.
func isObject(text []byte, end bool) status { return opens(text, "\"}\n", end) }

// isArray does so for an array of objects.
func isArray(text []byte, end bool) status { return opens(text, "{]\n", end) }

func opens(text []byte, followers string, end bool) status {
	if len(text) > 1 && text[1] == followers[0] {
		return done
	}
	i := skipBlank(text, 1)
	switch {
	case i < len(text):
		for _, c := range []byte(followers) {
			if text[i] == c {
				return done
			}
		}
		return broken
	case end:
		return done
	case i > MaxLength:
		return broken
	}
	return more
}
