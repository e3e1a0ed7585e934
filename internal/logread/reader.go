// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"

	"github.com/regometer/regometer/internal/verdicts"
)

// Options receives what a reader reads.
type Options struct {
	// Metric returns the number of a timer or counter with a key, or a negative
	// number if the metric is of no interest. The reader may ask for a key
	// again.
	Metric func(key []byte) int32
	// Event is called with each event, in the order of the text.
	Event func(*Event)
	// Problem is called with each problem, and the line where it begins.
	Problem func(kind Problem, line int64)
	// Loss, if it is not nil, is called for each line in which OPA's own logger
	// says that it lost n decisions or parts of uploads, or that n uploads
	// failed, with the time of the line, or NoTime.
	Loss func(kind Problem, n, time, line int64)
	// Verdicts finds the outcomes of results. nil stands for the usual ones.
	Verdicts *verdicts.Set
	// MaxLength limits the text of an event, in bytes. 0 stands for 64 MiB. The
	// reader skips the text of a longer event, and does not ask for it again.
	MaxLength int
}

// Reader reads the events of one file, whatever surrounds them. It is for one
// goroutine.
//
// The reader skips a value that it does not need, such as "input": it looks
// only at the strings and brackets in it, and does not check its grammar.
type Reader struct {
	options  Options
	root     source
	lines    int64 // that ended
	unclosed bool
	other    int64 // lines without an event
	// otherLine is the last line that counts in other.
	otherLine int64

	partial bool   // a line may be a part of a value around it: it is indented, or has a comma
	table   *table // of which the file has records, or nil
	finder  finder
	event   Event
}

// source is a text of lines: the file, or the text of one of the streams in it.
// Values are at the beginning of a line, or behind each other. Brackets of lists
// and commas between them only count: see depth. A value that is not whole is
// read again when its line ends or the text is twice as long. Only the lines of
// an object are scanned as they come.
type source struct {
	reader *Reader
	nesting

	// Of a stream. A file's caller keeps the rest of its text.
	name    string
	backlog []byte   // the text that waits for more
	open    bool     // its last line goes on
	started []int64  // the lines of the file at which its lines begin
	last    int64    // the last line of the file that belongs to it
	times   [][]byte // around that line

	record  []byte // the value that is read
	speaker []byte // see appendSpeaker; nil until it is known

	lineState
	depth    int  // the brackets that are open around the next value
	comma    bool // a comma must come before the next element
	document bool // one is of an object that is too long to collect, or cut

	// Behind the place where a value breaks, the reader skips the lines that
	// belong to the value by their indentation.
	broken int // the column of the value, and one; or 0
	single int // the bytes that are read again, in which no value has two lines

	tried   int  // the length of a text that was too short, or 0
	lines   bool // it had several lines
	scanner scanner
}

// lineState is where in a line a source is.
type lineState struct {
	column int  // the width of the white space that begins the line
	within bool // white space does not begin the line any more
	opened bool // a list begins in it
	skips  bool // the rest of the line is of no interest
}

func (s *source) isFile() bool { return s == &s.reader.root }

// line returns the line of the file where the current line begins.
func (s *source) line() int64 {
	if s.isFile() {
		return s.reader.lines + 1
	}
	return s.started[0]
}

// waits reports whether the meaning of the next line depends on the lines
// before.
func (s *source) waits() bool {
	return len(s.backlog) > 0 || s.depth > 0 || s.broken > 0 || s.lineState != (lineState{})
}

// endLines notes that the next n lines have been read.
func (s *source) endLines(n int) {
	s.lineState = lineState{}
	if s.isFile() {
		s.reader.lines += int64(n)
	} else {
		s.started = s.started[n:]
	}
}

// nesting says how deep in wrappers a value is.
type nesting int

const (
	inValue    nesting = 1  // each object and array around a value
	inText     nesting = 3  // each string around it, and each prefix before it
	maxNesting nesting = 25 // of an event
)

// finder finds events in records: values of a source, whatever surrounds the
// events in them.
type finder struct {
	reader *Reader
	// By nesting. A parser is used again only when all that it has read before is
	// dealt with.
	parsers *[maxNesting + 2]parser // the last one is for candidates
	// read is [source.read], since a text in a value is a source again.
	read func(s *source, text []byte, end bool) (n int)

	source  *source   // of the record that is read, or nil
	taken   int       // counts events, what is broken, and texts for streams
	waiting []*source // streams that wait for more
	name    []byte    // of the last stream
	prefix  []byte    // the last one of a name
	names   bool      // name streams even if none waits
	times   [][]byte  // in the text around the value that is read, the innermost last
	loss    uint64    // the last one in the record
	// If several is true, what is found becomes a candidate.
	several    bool
	candidates []candidate
	inEvent    bool // the value that is read is in an event, and may be a copy of it
}

// deliver passes the event that p has parsed to Options. times are in the text
// around it.
func (r *Reader) deliver(p *parser, text []byte, line int64, times [][]byte) {
	e := &r.event
	e.Line, e.Text = line, text
	p.event(e, times)
	for _, problem := range p.problems {
		r.options.Problem(problem, line)
	}
	r.options.Event(e)
}

func (s *source) problem(kind Problem) { s.reader.options.Problem(kind, s.line()) }

// noteOther counts lines, from the current one on, among the other lines of the
// file, each at most once. A value of a stream counts as one line.
func (s *source) noteOther(lines int) {
	r, line := s.reader, s.line()
	if line != r.otherLine {
		r.other++
	}
	if s.isFile() {
		line += int64(lines) - 1
		r.other += int64(lines) - 1
	}
	r.otherLine = line
}

// lose notes that the rest of a text is broken, and each decision in it.
func (s *source) lose(text []byte) {
	for range max(1, bytes.Count(text, idKey), bytes.Count(text, escapedKey)) {
		s.problem(InvalidJSON)
	}
}

var idKey, escapedKey = []byte(`"decision_id"`), []byte(`\"decision_id\"`)

// breakOff notes that the value at the beginning of text, of which length bytes
// are read, does not go on. From its second line on, the text is read again.
func (s *source) breakOff(kind Problem, text []byte, length int) {
	if s.single = length; kind == InvalidJSON {
		s.single = bytes.LastIndexByte(text[:length], '\n') + 1
		s.lose(text[:lineEnd(text, 0)])
	} else {
		s.problem(kind)
	}
	s.reader.unclosed = s.reader.unclosed || kind == Truncated && s.isFile() && s.depth > 0
	s.broken, s.skips, s.comma = s.column+1, true, false
	if s.opened || s.document {
		s.depth, s.document = 0, false
	}
}

// cutBy returns what cuts a value whose text has no end: the end of the file, or
// the limit of its length.
func (s *source) cutBy(text []byte) Problem {
	if len(text) < s.reader.options.MaxLength {
		return Truncated
	}
	return TooLong
}
