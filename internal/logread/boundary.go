// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import "bytes"

// Boundary returns a place in text, as far behind as possible, where a reader
// that has read the text before it is at the beginning of a line and waits for
// nothing. So another reader can read the text behind it. Boundary returns 0 if
// the text alone does not show such a place. The text must begin with a line.
//
// The place is behind two lines that are events, or behind more lines than a
// stream waits for, if each of these lines holds a whole event, waits for
// nothing, and cannot be a part of a value of many lines. Each stream has at
// least two of these lines, because the first may belong to a value that began
// before.
func Boundary(text []byte) int {
	if HasTable(text) {
		return 0
	}
	run := newRun()
	for end := bytes.LastIndexByte(text, '\n') + 1; end > 0; {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		if run.add(text[start:end], end) {
			return run.end
		}
		end = start
	}
	return 0
}

// run is consecutive lines, the last first, each of which holds a whole event.
type run struct {
	end     int
	lines   int
	bare    bool           // all are events themselves
	streams map[string]int // the lines of each stream
	twice   int            // the streams with two lines or more

	reader  *Reader
	events  int
	problem bool
}

func newRun() *run {
	b := new(run)
	b.reader = NewReader(Options{
		Metric:  func([]byte) int32 { return 0 },
		Event:   func(*Event) { b.events++ },
		Problem: func(p Problem, _ int64) { b.problem = b.problem || p != NoZone && p != LineTime && p != WrapperTime },
	})
	b.reader.finder.names = true
	return b
}

// add adds the line before, and reports whether a boundary is behind the run.
func (b *run) add(line []byte, end int) bool {
	bare, whole := b.holdsEvent(line)
	if !whole {
		b.lines = 0
		return false
	}
	if b.lines == 0 {
		b.end, b.bare, b.twice, b.streams = end, true, 0, map[string]int{}
	}
	b.lines++
	b.bare = b.bare && bare
	if name := b.reader.finder.name; len(name) > 0 {
		if b.streams[string(name)]++; b.streams[string(name)] == 2 {
			b.twice++
		}
	}
	return b.lines >= 2 && b.bare || b.lines > patience+1 && b.twice == len(b.streams)
}

// holdsEvent reports whether a line is an event, and whether it holds one and
// leaves nothing waiting.
func (b *run) holdsEvent(line []byte) (bare, whole bool) {
	r := b.reader
	if bytes.IndexByte(line, '{') < 0 { // as most lines of the text format
		return false, false
	}
	r.Reset()
	b.events, b.problem = 0, false
	n := r.Read(line)
	whole = n == len(line) && b.events > 0 && !b.problem && r.other == 0 && !r.partial && !r.root.waits() && len(r.finder.waiting) == 0
	return whole && line[0] == '{' && r.finder.parsers[0].isEvent(), whole
}
