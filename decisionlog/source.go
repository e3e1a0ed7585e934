// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import "bytes"

// maxNesting is how many containers may be around an event.
const maxNesting = 3

// noIndent says that no value is broken.
const noIndent = -1

// source is a text of lines: the file, or what one of the streams in it has
// inside its container.
type source struct {
	reader         *Reader
	depth          int // how many containers are around it
	parent, stream string
	name           string // of parent and stream

	// What a container's text waits for. The file's is with the caller.
	text    []byte
	open    bool    // the last line of text goes on
	started []lines // where the lines of text began
	first   int     // of started; those before are dealt with
	last    int64   // line of the file that added to it

	eol    int // the end of a line in the text that is read; see lineEnd
	column int // how many blanks of the line are dealt with
	inLine bool
	noted  bool // the line is among the other lines
	skips  bool // the rest of the line is skipped
	event  bool // what came last was an event of the file

	array  bool // within a JSON array of events
	comma  bool // a comma has to come before its next element
	opened bool // the array began in this line

	tried   int     // how much of a line was too little
	scanner scanner // of a value that is not whole yet
	indent  int     // column of a value that broke, and whose rest is skipped
	single  int     // bytes in which no value has more than a line: read again
}

// lines are lines of a container's text that began at the same line of the
// file.
type lines struct {
	line  int64
	count int
}

// waits reports whether what comes next depends on what came.
func (s *source) waits() bool {
	return len(s.text) > 0 || s.array || s.skips || s.inLine || s.column > 0 || s.indent != noIndent
}

// add reads more of a container's text.
func (s *source) add(text []byte, line int64) {
	count := countLines(text)
	open := len(text) > 0 && text[len(text)-1] != '\n'
	if open {
		count++
	}
	if s.open {
		count--
	}
	if count > 0 {
		s.started = append(s.started, lines{line, count})
	}
	s.last, s.open = line, open
	if open || len(s.text) > 0 {
		s.text = append(s.text, text...)
		text = s.text
	}
	if open && len(s.text) < MaxLength {
		return
	}
	if n := s.read(text, false); n > 0 || len(s.text) == 0 {
		s.text = append(s.text[:0], text[n:]...)
	}
}

// line returns the line of the file at which the line begins that is read.
func (s *source) line() int64 {
	if s.depth == 0 {
		return s.reader.lines + 1
	}
	if s.first < len(s.started) {
		return s.started[s.first].line
	}
	return s.last
}

// endLines notes that the next n lines are dealt with.
func (s *source) endLines(n int) {
	s.column, s.inLine, s.noted, s.opened = 0, false, false, false
	if s.depth == 0 {
		s.reader.lines += int64(n)
		return
	}
	for n > 0 && s.first < len(s.started) {
		at := &s.started[s.first]
		taken := min(n, at.count)
		n -= taken
		if at.count -= taken; at.count == 0 {
			s.first++
		}
	}
	if s.first == len(s.started) {
		s.started, s.first = s.started[:0], 0
	}
}

// read reads text and returns how many bytes of it are dealt with: all of them,
// if it is the end. What is given next begins with the others.
func (s *source) read(text []byte, end bool) (n int) {
	s.eol = -1
	for n < len(text) {
		if s.event && !s.inLine {
			if n = s.events(text, n); n == len(text) {
				break
			}
		}
		next, ok := s.step(text, n, end)
		s.single = max(0, s.single-(next-n))
		n = next
		if !ok {
			break
		}
	}
	return n
}

// events deals with lines that are an event each and nothing else, as most are,
// from i on, where a line begins behind an event: with what else step does in
// several steps. It returns the index behind them.
func (s *source) events(text []byte, i int) int {
	s.event = false
	if s.array || s.column > 0 || s.tried > 0 || s.indent != noIndent || s.single > 0 {
		return i
	}
	r, p := s.reader, &s.reader.parsers[0]
	p.checked = false
	for len(text)-i > 2 && text[i] == '{' && text[i+1] == '"' {
		rest := text[i:]
		end := p.parse(rest[:min(len(rest), MaxLength)])
		if end < 0 || end == len(rest) || rest[end] != '\n' || !p.isEvent() {
			break
		}
		r.deliver(p, rest[:end], r.lines+1)
		r.lines++
		i += end + 1
	}
	return i
}

// lineEnd returns the index of the next newline from i on, or len(text).
func (s *source) lineEnd(text []byte, i int) int {
	if s.eol < i {
		s.eol = len(text)
		if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
			s.eol = i + n
		}
	}
	return s.eol
}

// step deals with something at i, and returns the index behind it, and whether
// there was enough text to go on.
func (s *source) step(text []byte, i int, end bool) (next int, ok bool) {
	if s.skips {
		i = s.lineEnd(text, i)
		if i < len(text) {
			s.skips = false
			s.endLines(1)
			i++
		}
		return i, true
	}
	if s.scanner.pos == 0 {
		if next = skipBlank(text, i); next > i { // a step of its own, since single counts from i
			s.column += next - i
			return next, true
		}
		if text[i] == '\n' {
			s.endLines(1)
			return i + 1, true
		}
		if s.depth == 0 && len(s.reader.waiting) > 0 && !s.inLine {
			s.reader.expire()
		}
		if s.indent != noIndent && !s.inLine && s.brokenRest(text[i]) {
			s.skips = true
			return i, true
		}
	}
	switch c := text[i]; {
	case c == '{':
		switch isObject(text[i:], end) {
		case done:
			return s.object(text, i, end)
		case more:
			return i, false
		}
	case c == '[' && !s.inLine || c == '[' && !s.array:
		switch isArray(text[i:], end) {
		case done:
			s.array, s.comma, s.opened, s.inLine = true, false, true, true
			return i + 1, true
		case more:
			return i, false
		}
	case c == ']' && (s.array || s.inLine):
		s.array, s.inLine = false, true
		return i + 1, true
	case c == ',' && (s.array || s.inLine):
		s.comma, s.inLine = false, true
		return i + 1, true
	}
	return s.otherText(text, i, end)
}

// brokenRest reports whether a line that begins with c belongs to a value that
// broke, and notes where it does no longer.
func (s *source) brokenRest(c byte) bool {
	if s.column > s.indent || c == '}' || c == ']' || c == ',' {
		return true
	}
	s.indent = noIndent
	return false
}

// otherText deals with a line that is no JSON, or not up to here.
func (s *source) otherText(text []byte, i int, end bool) (next int, ok bool) {
	if s.inLine {
		s.problem(InvalidJSON, s.line())
		s.skips = true
		return i, true
	}
	eol := s.lineEnd(text, i)
	if eol == len(text) && !end && len(text)-i < MaxLength {
		return i, false
	}
	line := text[i:eol]
	if isTextLog(line) {
		return s.textLog(text, i, end)
	}
	stream, rest, part, ok := cutPrefix(line)
	switch {
	case !ok || s.depth == maxNesting:
		s.noteOther(1)
	case len(line) >= MaxLength:
		s.problem(TooLong, s.line())
	default:
		s.unwrap(stream, rest, part, eol < len(text))
	}
	s.skips = true
	return eol, true
}

func (s *source) noteOther(lines int) {
	if s.noted {
		lines--
	}
	s.noted = true
	s.reader.other += int64(lines)
}

func (s *source) problem(kind Problem, line int64) { s.reader.options.Problem(kind, line) }

// object deals with the JSON object at i.
func (s *source) object(text []byte, i int, end bool) (next int, ok bool) {
	if s.array && s.comma {
		s.problem(InvalidJSON, s.line())
		s.array, s.comma = false, false
	}
	p := &s.reader.parsers[s.depth]
	rest := text[i:]
	rest = rest[:min(len(rest), MaxLength)]
	if s.scanner.pos == 0 {
		if s.tried > 0 && len(text)-i < 2*s.tried && s.goesOn(text, i, end) {
			return i, false
		}
		p.checked = false
		if n := p.parse(rest); n >= 0 {
			s.tried = 0
			s.parsed(p, rest[:n])
			return i + n, true
		}
		if s.goesOn(text, i, end) {
			s.tried = len(text) - i
			return i, false
		}
		s.tried = 0
		if s.single > 0 {
			s.indent, s.skips = s.column, true
			return i, true
		}
	}
	kind := InvalidJSON
	switch s.scanner.scan(rest) {
	case done:
		n := s.scanner.pos
		s.scanner.reset()
		p.checked = true
		if p.parse(rest[:n]) == n {
			s.parsed(p, rest[:n])
			return i + n, true
		}
		s.scanner.pos = n
	case deep:
		kind = TooDeep
	case more:
		switch {
		case len(rest) == MaxLength:
			kind = TooLong
		case end:
			kind = Truncated
		default:
			return i, false
		}
	}
	s.broke(kind, rest[:s.scanner.pos])
	return i, true
}

// goesOn reports whether more of the line at i is to come.
func (s *source) goesOn(text []byte, i int, end bool) bool {
	return !end && len(text)-i < MaxLength && s.lineEnd(text, i) == len(text)
}

// broke notes that the value that the text is of does not go on. From its
// second line on, it is read again.
func (s *source) broke(kind Problem, text []byte) {
	s.problem(kind, s.line())
	s.scanner.reset()
	s.indent, s.skips = s.column, true
	s.single = bytes.LastIndexByte(text, '\n') + 1
	if kind == Truncated || kind == TooLong {
		s.single = max(s.single, len(text))
	}
	if s.opened {
		s.array = false
	}
	s.comma = false
}

// parsed deals with the object that p has parsed.
func (s *source) parsed(p *parser, text []byte) {
	lines := 0
	if p.checked {
		lines = countLines(text)
	}
	line := s.line()
	if p.isEvent() {
		if s.depth == 0 && len(s.reader.waiting) > 0 {
			s.reader.giveUp(func(*source) bool { return true })
		}
		s.reader.deliver(p, text, line)
		s.event = s.depth == 0
	} else {
		switch f, value := p.wrapped(); {
		case f == fieldNone || s.depth == maxNesting:
			s.noteOther(lines + 1)
		case value[0] == '{':
			s.unwrapObject(value, line)
		default:
			s.unwrapString(p, f, value)
		}
	}
	if lines > 0 {
		s.endLines(lines)
	}
	s.inLine, s.comma = true, s.array
}
