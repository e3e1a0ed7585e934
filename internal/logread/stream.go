// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"slices"
)

// dockerPart is the length of the parts into which docker splits a line, in
// bytes, if one that does not end with a character is cut before it.
const dockerPart = 16<<10 - 3

// patience limits how many lines of other streams may come while a stream waits
// for the rest of a line or value.
const patience = 64

// maxWaiting limits the streams that wait for more text. Only a line that
// begins many streams can exceed it.
const maxWaiting = 256

// readText reads the text of a member of the record. A line that docker has
// split goes on in the next record. All other texts end a line, even if they
// have no newline.
func (f *finder) readText(name, text []byte, n nesting) {
	if n += inText; n > maxNesting {
		return
	}
	if f.inEvent {
		f.readCopy(text, n)
		return
	}
	text, whole := bytes.CutSuffix(text, newline)
	f.give(name, text, whole || len(text) < dockerPart || isWhole(text, '{'), n)
}

// give reads a text of the record: a member with a name in quotes, or a line
// behind the name in its prefix. The text may continue a stream that waits, or
// begin one. whole says that a newline ends it, which text lacks.
func (f *finder) give(name, text []byte, whole bool, n nesting) {
	var stream *source
	if len(f.waiting) > 0 || f.names {
		full := f.streamName(name)
		if i := slices.IndexFunc(f.waiting, func(s *source) bool { return s.nesting == n && s.name == string(full) }); i >= 0 {
			stream = f.waiting[i]
		}
	}
	switch {
	case stream != nil:
		if whole && stream.open && isWhole(text, '{') { // the rest of the line before is lost
			f.feed(stream, nil, true)
		}
	case whole && hasPrefix(text, "{") && f.readWhole(text, n) || hasPrefix(name, `"`) && !mayBegin(text): // behind a prefix may be another one
		return
	}
	if stream == nil { // one that waits for nothing
		stream = &source{reader: f.reader, nesting: n, name: string(f.streamName(name))}
	}
	f.taken++
	f.feed(stream, text, whole)
}

// streamName returns the name of the stream of a text: see give.
func (f *finder) streamName(name []byte) []byte {
	s := f.source
	if s.speaker == nil { // once, since a record may have many members
		s.speaker = appendSpeaker([]byte{}, s.record, 3)
	}
	f.name = append(append(append(append(f.name[:0], s.name...), 0), s.speaker...), name...)
	return f.name
}

// readCopy looks for a whole event in a text that is in an event. The text is
// no part of another one, and nothing in it is a problem.
func (f *finder) readCopy(text []byte, n nesting) {
	joinLines(text)
	if object, isLogged := embedded(text, f.parsers[n].parse); hasPrefix(object, "{") && !isLogged {
		f.readObject(n, object)
	}
}

// feed gives a text of the record to a stream, and notes whether the stream
// waits for more.
func (f *finder) feed(s *source, text []byte, whole bool) {
	from := len(s.backlog)
	if s.backlog = append(s.backlog, text...); whole {
		s.backlog = append(s.backlog, '\n')
	}
	for line := range bytes.Lines(s.backlog[from:]) {
		if !s.open {
			s.started = append(s.started, f.source.line())
		}
		s.open = line[len(line)-1] != '\n'
	}
	if s.last = f.source.line(); !s.open || len(s.backlog) >= s.reader.options.MaxLength {
		s.backlog = append(s.backlog[:0], s.backlog[s.read(s.backlog, false):]...)
	}
	at, waits := slices.Index(f.waiting, s), s.waits()
	if waits {
		s.times = copyAll(f.times)
	}
	switch {
	case waits && len(f.waiting) == maxWaiting && at < 0:
		s.read(s.backlog, true)
	case waits && at < 0: // behind the streams around it
		f.waiting = append(f.waiting, s)
	case !waits && at >= 0:
		f.waiting = slices.Delete(f.waiting, at, at+1)
	}
}

// giveUp reads the text of the streams that wait, as if no more came.
func (f *finder) giveUp(which func(*source) bool) {
	for i := slices.IndexFunc(f.waiting, which); i >= 0; i = slices.IndexFunc(f.waiting, which) {
		s := f.waiting[i]
		f.waiting = slices.Delete(f.waiting, i, i+1)
		f.times = s.times
		s.read(s.backlog, true)
		f.times = nil // as around all lines of a file
	}
}

// expire gives up streams whose last line is too far back.
func (f *finder) expire() {
	pending := 0
	for _, s := range f.waiting {
		pending += len(s.backlog)
	}
	f.giveUp(func(s *source) bool { return pending > f.reader.options.MaxLength || f.reader.lines-s.last > patience })
}
