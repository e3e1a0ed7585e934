// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"
)

// Options says where what is read goes.
type Options struct {
	// Metric returns by what number a metric is known, negative for what is of
	// no interest. It is called with the keys of
	// timers and counters, and may be called with the same one again.
	Metric func(key []byte) int32
	// Event is called with each event, in the order of the text.
	Event func(*Event)
	// Problem is called with what is wrong, and the line where it begins.
	Problem func(kind Problem, line int64)
	// Check, if not nil, is given the JSON text of each event before it is
	// read; if it returns an error, that is a problem (InvalidJSON).
	Check func(text []byte) error
}

// Problem is a kind of what may be wrong with a log.
type Problem string

// The problems.
const (
	InvalidJSON    Problem = "invalid_json"    // JSON that begins and breaks
	Truncated      Problem = "truncated"       // the text ends within an event
	InvalidUTF8    Problem = "invalid_utf8"    // in a path or another field that is used
	TooDeep        Problem = "too_deep"        // nested deeper than MaxDepth: not looked into
	TooLong        Problem = "too_long"        // longer than MaxLength: not looked into
	NoMetrics      Problem = "no_metrics"      // an event without metrics: a decision all the same
	BadMetric      Problem = "bad_metric"      // a timer or counter that is no integer of 64 bits
	NegativeMetric Problem = "negative_metric" // a timer or counter below 0
	DuplicateKey   Problem = "duplicate_key"   // a field of the event, or a metric, that is there twice: the last one counts
	BadTime        Problem = "bad_timestamp"   // a timestamp that is none
)

// MaxLength is how many bytes the text of an event may have.
const MaxLength = 64 << 20

// patience is after how many lines of others an unfinished line or value that
// is wrapped by a container, such as one of docker's, is given up.
const patience = 64

// Reader reads the events of one file, whatever container they are in. It is
// for one goroutine.
//
// What a field holds that is of no interest, such as "input", is skipped: of it
// only strings and brackets are looked at, not whether all of it is JSON.
type Reader struct {
	options Options
	root    source
	other   int64
	lines   int64 // that ended

	parsers   [maxNesting + 1]parser // by how many containers there are around; they share nothing
	buffers   [maxNesting + 1][]byte // for lines that have no newline
	spare     [maxNesting + 1]source // for containers that wait for nothing
	waiting   []*source              // containers that wait for more
	event     Event
	revisions bundleRevisions
}

// NewReader returns a reader.
func NewReader(o Options) *Reader {
	r := &Reader{options: o}
	r.root = source{reader: r, indent: noIndent}
	for i := range r.parsers {
		r.parsers[i].inBlocks = hasWide
	}
	r.event.revisions = &r.revisions
	return r
}

// Reset makes r ready for another file. What it knows of keys stays: that makes
// reading faster, and no difference to what is read.
func (r *Reader) Reset() {
	r.root = source{reader: r, indent: noIndent}
	r.other, r.lines, r.waiting = 0, 0, nil
	clear(r.buffers[:])
	clear(r.spare[:])
	for i := range r.parsers {
		p := &r.parsers[i]
		p.json, p.decoded, p.scratch = nil, nil, nil
		if len(p.keys) == mostKeys { // of which many may be of no use here
			p.keys, p.start.next = nil, [followers]*key{}
		}
	}
}

// Forget makes r ask Options.Metric for all numbers again. Options.Event may
// call it, and uses the numbers of its event no longer then.
func (r *Reader) Forget() {
	for i := range r.parsers {
		m := &r.parsers[i].metrics
		m.forget()
		m.unknown = true // an event may be parsed and not delivered yet
	}
}

// Read reads the next part of the text, and returns how many bytes of it, from
// the start, are dealt with. The rest is to be given again, with more behind
// it: it is less than MaxLength.
func (r *Reader) Read(text []byte) (n int) { return r.root.read(text, false) }

// Close reads the rest, the end of the text.
func (r *Reader) Close(rest []byte) {
	r.root.read(rest, true)
	r.giveUp(func(*source) bool { return true })
}

// Counts returns how many lines of the text there were, and how many of them
// were well-formed JSON or plain text, but no events. What a container splits
// into several lines counts once among the latter.
func (r *Reader) Counts() (lines, other int64) {
	lines = r.lines
	if s := &r.root; s.column > 0 || s.inLine || s.skips {
		lines++
	}
	return lines, r.other
}

// deliver hands on the event that p has parsed.
func (r *Reader) deliver(p *parser, text []byte, line int64) {
	if r.options.Check != nil && r.options.Check(text) != nil {
		r.options.Problem(InvalidJSON, line)
		return
	}
	e := &r.event
	e.Line = line
	p.event(e, r.options.Metric)
	for _, problem := range p.problems {
		r.options.Problem(problem, line)
	}
	r.options.Event(e)
}

// giveUp reads what containers wait for as if no more came.
func (r *Reader) giveUp(which func(*source) bool) {
	for i := 0; i < len(r.waiting); {
		s := r.waiting[i]
		if !which(s) {
			i++
			continue
		}
		r.waiting = slices.Delete(r.waiting, i, i+1)
		s.read(s.text, true)
	}
}

// expire gives up containers whose last line is too far back.
func (r *Reader) expire() {
	pending := 0
	for _, s := range r.waiting {
		pending += len(s.text)
	}
	r.giveUp(func(s *source) bool { return pending > MaxLength || r.lines-s.last > patience })
}

// feed reads text from a container: of the stream that is named, at a line. The
// text is whole lines, or part of one that goes on.
func (r *Reader) feed(parent *source, stream, text []byte, line int64) {
	depth := parent.depth + 1
	if len(r.waiting) == 0 && r.readLine(depth, text, line) {
		return
	}
	for i, s := range r.waiting {
		if s.parent == parent.name && s.stream == string(stream) && s.depth == depth {
			if s.add(text, line); !s.waits() {
				if i < len(r.waiting) && r.waiting[i] == s {
					r.waiting = slices.Delete(r.waiting, i, i+1)
				}
			}
			return
		}
	}
	s := &r.spare[depth]
	*s = source{reader: r, depth: depth, parent: parent.name, indent: noIndent, started: s.started[:0], scanner: scanner{ends: s.scanner.ends[:0]}}
	if s.add(text, line); s.waits() {
		s.stream = string(stream)
		s.name = s.parent + "\x00" + s.stream
		kept := *s
		r.waiting = append(r.waiting, &kept)
		*s = source{}
	}
}

// readLine reads text from a container for which nothing waits, if it is one
// line, an object and no container itself, as most are. It reports whether it
// was; it is what source.add would do.
func (r *Reader) readLine(depth int, text []byte, line int64) bool {
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	p := &r.parsers[depth]
	p.checked = false
	end := p.parse(text)
	if end != len(text)-1 || text[end] != '\n' {
		return false
	}
	if p.isEvent() {
		r.deliver(p, text[:end], line)
		return true
	}
	if f, _ := p.wrapped(); f != fieldNone {
		return false
	}
	r.other++
	return true
}

// hasPart reports whether a line of the stream is unfinished.
func (r *Reader) hasPart(parent *source, stream []byte) bool {
	return slices.ContainsFunc(r.waiting, func(s *source) bool {
		return s.parent == parent.name && s.stream == string(stream) && s.depth == parent.depth+1 && s.open
	})
}

var newline = []byte{'\n'}

func countLines(text []byte) int { return bytes.Count(text, newline) }
