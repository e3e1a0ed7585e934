// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import "bytes"

// Boundary returns a place in text, as far behind as possible, where a reader
// that has read what is before it is at the beginning of a line and waits for
// nothing: so what is behind can be read by another reader. It returns 0 if
// there is none that can be told from text alone, which begins with a line.
//
// Such a place is behind two lines that are whole events, or behind a number of
// docker's lines whose texts are whole objects.
func Boundary(text []byte) int {
	var b boundary
	for end := bytes.LastIndexByte(text, '\n') + 1; end > 0; {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		if b.add(text[start:end], end) {
			return b.end
		}
		end = start
	}
	return 0
}

// boundary is where lines end that may be all that is needed, and how many
// there are, of the same stream.
type boundary struct {
	end    int
	lines  int
	stream string // docker's, "" for lines that are events themselves

	outer, inner parser
	buffer       []byte
}

// add adds the line before, and reports whether these are enough.
func (b *boundary) add(line []byte, end int) bool {
	stream, ok := b.wholeLine(line)
	if !ok {
		b.lines = 0
		return false
	}
	if b.lines == 0 || stream != b.stream {
		b.end, b.lines, b.stream = end, 0, stream
	}
	b.lines++
	if stream == "" {
		return b.lines >= 2
	}
	return b.lines > patience+1
}

// wholeLine reports whether a line is an event, or docker's around one object,
// and of which of docker's streams.
func (b *boundary) wholeLine(line []byte) (stream string, ok bool) {
	if !b.object(&b.outer, line) {
		return "", false
	}
	if b.outer.isEvent() {
		return "", true
	}
	f, value := b.outer.wrapped()
	stream = string(b.outer.text(fieldStream))
	if f != fieldLog || value[0] != '"' || stream == "" {
		return "", false
	}
	b.buffer = unescape(b.buffer[:0], value[1:len(value)-1])
	return stream, bytes.Count(b.buffer, newline) == 1 && b.object(&b.inner, b.buffer) && b.inner.isPlain()
}

// object reports whether a line is one object and nothing else.
func (b *boundary) object(p *parser, line []byte) bool {
	if len(line) < 2 || len(line) > MaxLength || line[0] != '{' || line[len(line)-1] != '\n' {
		return false
	}
	end := p.parse(line[:len(line)-1])
	return end > 0 && skipBlank(line, end) == len(line)-1
}

// isPlain reports whether nothing waits behind the object: it is an event, or
// wraps no other one.
func (p *parser) isPlain() bool {
	f, _ := p.wrapped()
	return p.isEvent() || f == fieldNone
}
