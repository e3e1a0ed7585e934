// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
	"strings"
)

// read reads text and returns the number of bytes that it has consumed, which
// is all of them at the end. The next text must begin with the other bytes.
func (s *source) read(text []byte, end bool) (n int) {
	longest := s.reader.options.MaxLength
	if !end && len(text) < min(2*s.tried, longest) && (s.lines || bytes.IndexByte(text[s.tried:], '\n') < 0) {
		return 0
	}
	for s.tried = 0; n < len(text); {
		rest := text[n:min(len(text), n+longest)]
		length := s.step(rest, end || len(rest) == longest)
		if length < 0 {
			if isScanned := s.scanner.pos; isScanned < len(rest) {
				s.tried, s.lines = len(rest), isScanned == 0 && lineEnd(rest, 0) < len(rest)
			}
			break
		}
		s.single = max(0, s.single-length)
		n += length
	}
	return n
}

// step reads one thing at the beginning of text: a value, a line or a bracket.
// It returns its length, or -1 if the text is too short to go on. all says that
// no more text comes, or that more is of no interest.
func (s *source) step(text []byte, all bool) (n int) {
	if s.skips { // the rest of the line
		if n = lineEnd(text, 0); n < len(text) {
			s.endLines(1)
			n++
		}
		return n
	}
	if n = skipBlank(text, 0); n > 0 { // a step of its own, since single counts from its end
		s.column += n
		s.reader.partial = s.reader.partial || !s.within
		return n
	}
	if text[0] == '\n' {
		s.endLines(1)
		return 1
	}
	if s.isFile() && len(s.reader.finder.waiting) > 0 {
		s.reader.finder.expire()
	}
	if s.skips = s.broken > 0 && (s.column >= s.broken || strings.IndexByte("}],", text[0]) >= 0 || s.column == s.broken-1 && text[0] == '-'); s.skips {
		return 0
	}
	s.broken = 0
	// Programs may write lines of JSON behind a line that looks like a table's.
	if s.reader.table != nil && s.isFile() && !s.within && text[0] != '{' {
		return s.readRow(text, all)
	}
	c, behind, follows := text[0], skipBlank(text, 1), byte('\n')
	if behind < len(text) {
		follows = text[behind]
	}
	switch {
	case (c == '{' || c == '[') && behind == len(text) && !all:
		return -1
	case c == '{' && (follows == '"' || follows == '}' || follows == '\n'):
		return s.object(text, all)
	case c == '[' && (s.document || follows == '{' || follows == ']' || follows == '\n'): // a list of objects
		s.depth++
		s.opened, s.comma = true, false
	case c == ']' && (s.depth > 0 || s.within), c == '}' && s.document:
		s.depth = max(0, s.depth-1)
		s.document = s.document && s.depth > 0
	case c == ',' && (s.depth > 0 || s.within):
		s.reader.partial = s.reader.partial || s.depth == 0
		s.comma = false
	case c == '"' && s.document:
		return s.documentString(text, all)
	case !s.document: // which may have numbers and the like
		return s.other(text, all)
	}
	s.within = true
	return 1
}

// other reads text that is not JSON, or that breaks off here.
func (s *source) other(text []byte, all bool) (n int) {
	n = lineEnd(text, 0)
	if n == len(text) && !all {
		return -1
	}
	line, f, isFirst := text[:n], &s.reader.finder, s.isFile() && s.line() == 1
	if line[0] == '[' && !s.within && logged.Match(line) {
		return s.textLog(text, all)
	}
	if before, ok := bytes.CutSuffix(bytes.TrimRight(line, " \t\r"), []byte(" {")); ok && !s.within && !endsLogged(before) {
		switch behind := skipSpace(text, n); { // an object of several lines may begin behind a prefix
		case behind == len(text) && !all:
			return -1
		case behind < len(text) && text[behind] == '"':
			s.within = true
			return len(before) + 1
		}
	}
	if s.skips = true; s.within {
		s.lose(line)
		return n
	}
	if isFirst {
		s.reader.table = tableOf(line)
	}
	if line[0] != '"' && line[0] != '[' {
		s.depth = 0
	}
	s.reader.partial = s.reader.partial || line[0] == ','
	stream, rest, part, ok := cutPrefix(line, &f.prefix)
	switch {
	case isFirst && s.reader.table != nil:
		s.noteOther(1)
	case len(line) >= s.reader.options.MaxLength && (ok || bytes.IndexByte(line[:min(len(line), 1<<10)], '{') >= 0):
		s.problem(TooLong)
	case ok && s.nesting+inText <= maxNesting:
		taken := f.withRecord(s, line, func() {
			f.times = append(f.times, line[:max(0, bytes.IndexByte(line, ' '))]) // it may be one
			f.give(stream, rest, !part, s.nesting+inText)
		})
		if !taken {
			s.noteOther(1)
		}
	default:
		s.embedded(line)
	}
	return n
}

// textLog reads a line of a logger in the text format, with its fields: see step.
func (s *source) textLog(text []byte, all bool) (n int) {
	const blanks = " \r\n"
	f := &s.reader.finder
	times := f.times
	n = lineEnd(text, 0) // it ends before a line that is neither empty nor indented
	for n+2 < len(text) && strings.IndexByte(blanks, text[n+1]) >= 0 && (text[n+1] != ' ' || strings.IndexByte(blanks, text[n+2]) >= 0) {
		n = lineEnd(text, n+1)
	}
	switch {
	case n+2 < len(text):
		if s.times != nil { // it ended with the record before
			f.times = s.times
		}
	case len(text) == s.reader.options.MaxLength:
		s.breakOff(TooLong, text, len(text))
		return 0
	case !all:
		return -1
	default:
		n = len(text)
	}
	lines := bytes.TrimRight(text[:n], " \t\r\n")
	s.readMade(textObject(lines), lines)
	f.times = times
	return len(lines)
}

// readRow reads the record of a table at the beginning of text: see step.
func (s *source) readRow(text []byte, all bool) (length int) {
	t := s.reader.table
	n, isOpen := -1, true
	for quotes := 0; isOpen && n < len(text) && (n < 0 || s.single == 0); {
		from := n + 1
		if n = lineEnd(text, from); n == len(text) && !all {
			return -1
		}
		quotes += bytes.Count(text[from:n], []byte{'"'})
		isOpen = quotes%2 == 1
	}
	record, p := text[:n], &s.reader.finder.parsers[s.nesting]
	cells, read := cutCells(record, t.comma)
	have := min(len(cells), len(t.names)) // other cells show that they are not in quotes
	isOpen = isOpen || read < n || len(bytes.Join(cells[have:], nil)) > 0 || have < len(t.names) && bytes.IndexByte(bytes.Join(cells, nil), t.comma) >= 0
	switch joined := tableOf(record); {
	case joined != nil: // another file begins
		s.reader.table = joined
		s.noteOther(1)
	case n == len(text) && len(cells) < len(t.names) && bytes.IndexByte(record, '\n') < 0:
		s.problem(s.cutBy(text))
	case t.isBehind && len(cells) > 1:
		s.problem(UnknownForm)
	case isOpen:
		s.problem(InvalidJSON)
		s.single = max(s.single, n)
	default:
		if !s.readMade(t.objectOf(p, cells), record) && p.present&(1<<fieldDecisionID|1<<fieldMetrics) != 0 {
			s.problem(UnknownForm)
		}
		length = n
	}
	s.skips = true // up to the end of the line
	return length
}

// embedded reads a line that may be a list, or have an object behind a prefix.
func (s *source) embedded(line []byte) {
	text, isLogged := embedded(line, s.reader.finder.parsers[s.nesting].parse)
	switch {
	case isLogged && hasEvent(line):
		s.problem(Logged)
	case isLogged:
		s.noteOther(1)
	case text != nil && s.reader.finder.take(s, text):
		// Another event in the line may break off before.
		if before, _, isPart := bytes.Cut(line, text); isPart && bytes.Contains(before, []byte(`{"`)) && isCut(before) {
			s.lose(before)
		}
	case isCut(line):
		s.lose(line)
	case bytes.Contains(line, names[0]) && bytes.Contains(line, []byte("timer_")):
		s.problem(UnknownForm)
	case hasPrefix(line, "time=") && logfmt.Match(line):
		s.readMade(logfmt.ReplaceAll(line, []byte(`{"level":"error","plugin":"decision_logs","time":$1,"msg":$2}`)), line)
	default:
		s.plain(line)
	}
}

// plain reads a line without an object. It may be a member of YAML, which is not
// read: the indented lines of an event's data are skipped.
func (s *source) plain(line []byte) {
	key, value, _ := bytes.Cut(line, []byte(":"))
	name := bytes.TrimLeft(key, "- ")
	switch f := fieldOf(bytes.Trim(name, `"'`)); {
	case f == fieldDecisionID && bytes.HasPrefix(value, []byte(" ")):
		s.problem(UnknownForm)
	case f.isData() && len(bytes.Trim(value, " |>+-\r")) == 0:
		s.broken = s.column + len(key) - len(name) + 1
		fallthrough
	default:
		s.noteOther(1)
	}
}

// isCut reports whether a line that has no object seems to be a part of one
// event: as it is, or in a quotation that holds an object or has no beginning.
func isCut(line []byte) bool {
	before, _, quoted := bytes.Cut(line, []byte(`decision_id\"`))
	open := quoted && (bytes.Contains(before, []byte(`"{\"`)) || (bytes.Count(before, []byte{'"'})-bytes.Count(before, []byte(`\"`)))%2 == 0)
	return open || bytes.IndexByte(line, '{') >= 0 && (bytes.Contains(line, []byte(`decision_id"`)) || bytes.Contains(line, []byte(`"timer_`)))
}

// noText is in an entry of which journalctl -o json has left out a text of more
// than 4,096 bytes, or has written one that it takes for binary as its bytes.
var noText = regexp.MustCompile(`"MESSAGE"\s*:\s*(null|\[)`)

// object reads the JSON object that text begins with.
func (s *source) object(text []byte, all bool) (length int) {
	if s.comma && !s.document {
		s.depth = 0
	}
	p := &s.reader.finder.parsers[s.nesting]
	if s.scanner.pos == 0 {
		length = p.parse(text)
		if n := s.readEvents(text, length); n > 0 {
			return n
		}
		tail := length >= 0 && !s.document && isTail(text[length:], all) // a document does not begin where a line was cut
		switch {
		case (length < 0 || tail) && !all && lineEnd(text, max(0, length)) == len(text):
			return -1
		case tail:
			s.breakOff(InvalidJSON, text, length)
			return 0
		case length >= 0:
			s.parsed(text[:length], 0)
			return length
		case s.single > 0:
			s.broken, s.skips = s.column+1, true
			return 0
		}
	}
	st := s.scanner.scan(text)
	if st == more && !all {
		return -1
	}
	length = s.scanner.pos
	s.scanner = scanner{ends: s.scanner.ends[:0]}
	switch {
	case st == done:
		s.readMade(text[:length], text[:length])
		return length
	case st == broken:
		s.breakOff(InvalidJSON, text, length)
	case (s.isFile() || len(text) == s.reader.options.MaxLength) && s.openDocument(p, text):
		return 1
	default:
		s.breakOff(s.cutBy(text), text, length)
	}
	return 0
}

// isTail reports whether what is behind an object on its line shows that the
// object is a member in the tail of another one, or may show it when more comes.
func isTail(text []byte, all bool) bool {
	text, hasComma := bytes.CutPrefix(text[skipBlank(text, 0):], []byte{','})
	text = text[skipBlank(text, 0):]
	return len(text) == 0 && !all || hasPrefix(text, "}") || hasComma && hasPrefix(text, `"`)
}

// readEvents delivers the event that the parser has read at the beginning of
// text, and those of the lines that follow, as long as each line is an event, as
// most lines are. It does the work of several steps at once, and returns the
// length of the lines.
func (s *source) readEvents(text []byte, length int) (n int) {
	r, p := s.reader, &s.reader.finder.parsers[0]
	if p.holdsMore || !s.isFile() || s.lineState != (lineState{}) || s.depth > 0 || s.broken > 0 || s.single > 0 || len(r.finder.waiting) > 0 {
		return 0
	}
	for length >= 0 && n+length < len(text) && text[n+length] == '\n' && !p.holdsMore && p.isEvent() {
		r.deliver(p, text[n:n+length], r.lines+1, nil)
		r.lines++
		if n += length + 1; !hasPrefix(text[n:], `{"`) {
			break
		}
		length = p.parse(text[n:])
	}
	return n
}

// parsed delivers or searches the object that the parser has parsed, in whose
// text lines ended. It reports whether anything in it was of interest.
func (s *source) parsed(object []byte, lines int) (taken bool) {
	f := &s.reader.finder
	if p := &f.parsers[s.nesting]; s.isFile() && p.isEvent() && len(f.waiting) > 0 {
		f.giveUp(func(*source) bool { return true })
		p.parse(object) // it may have parsed another one
	}
	if taken = f.take(s, object); !taken {
		if bytes.Contains(object, []byte("__REALTIME_TIMESTAMP")) && noText.Match(object) {
			s.problem(NoText)
		}
		s.noteOther(lines + 1)
	}
	if lines > 0 {
		s.endLines(lines)
	}
	s.within, s.comma = true, s.depth > 0
	return taken
}

// readMade reads an object that stands for lines, or is them. It reports whether
// anything in it was of interest.
func (s *source) readMade(object, lines []byte) (taken bool) {
	n := bytes.Count(lines, []byte{'\n'})
	joinLines(object)
	s.reader.finder.parsers[s.nesting].parse(object)
	return s.parsed(object, n)
}
