// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"slices"
)

// dockerPart is the length of the parts into which docker splits a line, in
// bytes.
const dockerPart = 16 << 10

// patience limits how many lines of other streams may come while a stream waits
// for the rest of a line or value.
const patience = 64

// maxWaiting limits the streams that wait for more text. Only a line that
// begins many streams can exceed it.
const maxWaiting = 256

// backlog is the text of a stream that waits for more, and the lines of the
// file that it comes from.
type backlog struct {
	name    string
	text    []byte
	open    bool    // the last line of text goes on
	started []lines // the lines of the file at which the lines of text begin
	first   int     // of started; those before are dealt with
	last    int64   // the last line of the file that belongs to the stream
}

// lines are lines of a stream that begin at the same line of the file.
type lines struct {
	line  int64
	count int
}

// line returns the line of the file at which the next line begins.
func (b *backlog) line() int64 {
	if b.first < len(b.started) {
		return b.started[b.first].line
	}
	return b.last
}

// endLines notes that the next n lines have been read.
func (b *backlog) endLines(n int) {
	for n > 0 && b.first < len(b.started) {
		at := &b.started[b.first]
		taken := min(n, at.count)
		n -= taken
		if at.count -= taken; at.count == 0 {
			b.first++
		}
	}
	if b.first == len(b.started) {
		b.started, b.first = b.started[:0], 0
	}
}

// note notes that text is from a line of the file.
func (b *backlog) note(text []byte, line int64) {
	count := bytes.Count(text, newline)
	open := len(text) > 0 && text[len(text)-1] != '\n'
	if open {
		count++
	}
	if b.open {
		count--
	}
	if count > 0 {
		b.started = append(b.started, lines{line, count})
	}
	b.last, b.open = line, open
}

// add reads more of a stream's text.
func (s *source) add(text []byte, line int64) {
	b := &s.backlog
	b.note(text, line)
	if b.open || len(b.text) > 0 {
		b.text = append(b.text, text...)
		text = b.text
	}
	if b.open && len(b.text) < s.reader.maxLength {
		return
	}
	if n := s.read(text, false); n > 0 || len(b.text) == 0 {
		b.text = append(b.text[:0], text[n:]...)
	}
}

// readText reads the text of a member of the record. A line that docker has
// split goes on in the next record. All other texts end a line, even if they
// have no newline.
func (s *source) readText(k *key, name, text []byte, n nesting) {
	if n = n.decoded(); n.tooDeep() {
		return
	}
	if s.reader.inEvent {
		s.readCopy(text, n)
		return
	}
	whole := len(text) > 0 && text[len(text)-1] == '\n'
	if !whole && (len(text) < dockerPart || isWhole(text, '{')) {
		text = append(text, '\n')
		whole = true
	}
	s.give(k, name, text, whole, n)
}

// give reads a text of the record: a member with a name, or if k is nil, a line
// behind the name in its prefix. The text may continue a stream that waits, or
// begin one.
func (s *source) give(k *key, name, text []byte, whole bool, n nesting) {
	r := s.reader
	var stream *source
	if len(r.waiting) > 0 || r.names {
		stream = r.waitingStream(n, s.streamName(k, name))
	}
	switch {
	case stream != nil:
		if whole && stream.open && isWhole(text, '{') { // the rest of the line before is lost
			r.feed(stream, newline, r.record.line)
			stream = r.waitingStream(n, s.streamName(k, name))
		}
	case whole && s.readOneLine(k, text, n) || k != nil && !mayBegin(text): // behind a prefix may be another one
		return
	}
	if stream == nil {
		stream = r.newStream(n, s.streamName(k, name))
	}
	r.record.taken = true
	r.feed(stream, text, r.record.line)
}

// streamName returns the name of the stream of a text: see give.
func (s *source) streamName(k *key, name []byte) []byte {
	r := s.reader
	if k == nil {
		r.name = append(append(append(r.name[:0], s.backlog.name...), 1), name...)
		return r.name
	}
	r.name = append(append(r.name[:0], s.backlog.name...), 0)
	if r.record.speaker == nil { // once, since a record may have many members
		r.record.speaker = appendSpeaker([]byte{}, r.record.text, 3)
	}
	r.name = append(append(r.name, r.record.speaker...), name...)
	return r.name
}

// readOneLine reads a text of one line that is an object, as most texts are,
// and reports whether it is.
func (s *source) readOneLine(k *key, text []byte, n nesting) bool {
	if text[0] != '{' {
		return false
	}
	p := &s.reader.parsers[n.index()]
	p.checked = false
	if end := p.parse(text); end != len(text)-1 || text[end] != '\n' {
		return false
	}
	if k != nil && k != otherKey {
		k.holdsText = true
	}
	if text = text[:len(text)-1]; p.isEvent() && !p.holdsMore {
		s.found(p, n, text)
	} else {
		s.search(p, n.deeper(), text)
	}
	return true
}

// readCopy looks for a whole event in a text that is in an event. The text is
// no part of another one, and nothing in it is a problem.
func (s *source) readCopy(text []byte, n nesting) {
	p := &s.reader.parsers[n.index()]
	object, logged := text, false
	if p.checked = isWhole(text, '{'); !p.checked {
		object, logged = embedded(text, p.parse)
	} else if p.parse(text) < 0 {
		return
	}
	switch {
	case logged || object == nil:
	case p.isEvent() && !p.holdsMore:
		s.found(p, n, object)
	default:
		s.search(p, n.deeper(), object)
	}
}

// isWhole reports whether the text is a JSON object or array that begins with a
// bracket.
func isWhole(text []byte, bracket byte) bool {
	var s scanner
	return len(text) > 0 && text[0] == bracket && s.scan(text) == done && skipSpace(text, s.pos) == len(text)
}

// readLine reads the text behind the prefix of a line, which is a line of the
// stream or a part of one. The prefix may begin with a time.
func (s *source) readLine(line, stream, text []byte, part bool) {
	if part && len(text) == 0 {
		return
	}
	r, n := s.reader, s.prefixed()
	if !part {
		text = append(append(r.buffers[n.prefixes][:0], text...), '\n')
		r.buffers[n.prefixes] = text
	}
	times := len(r.times)
	r.times = append(r.times, line[:max(0, bytes.IndexByte(line, ' '))])
	if !r.withRecord(text, s.line(), func() { s.give(nil, stream, text, !part, n) }) {
		s.noteOther(text, 1)
	}
	r.times = r.times[:times]
}

// waitingStream returns the stream with a name if it waits, or nil.
func (r *Reader) waitingStream(n nesting, name []byte) *source {
	for _, s := range r.waiting {
		if s.backlog.name == string(name) && s.nesting == n {
			return s
		}
	}
	return nil
}

// newStream returns a stream that waits for nothing.
func (r *Reader) newStream(n nesting, name []byte) *source {
	s := &r.spare[n.index()]
	s.reset(r, n)
	s.backlog.name = string(name)
	return s
}

// feed gives text to a stream, and notes whether the stream waits for more.
func (r *Reader) feed(s *source, text []byte, line int64) {
	s.add(text, line)
	at := slices.Index(r.waiting, s)
	switch waits := s.waits(); {
	case waits && len(r.waiting) == maxWaiting && at < 0:
		s.read(s.backlog.text, true)
	case waits && at < 0:
		kept := *s
		*s = source{}
		r.waiting = append(r.waiting, &kept)
	case !waits && at >= 0:
		r.waiting = slices.Delete(r.waiting, at, at+1)
	}
}

// giveUp reads the text of the streams that wait, as if no more came.
func (r *Reader) giveUp(which func(*source) bool) {
	for i := 0; i < len(r.waiting); {
		s := r.waiting[i]
		if !which(s) {
			i++
			continue
		}
		r.waiting = slices.Delete(r.waiting, i, i+1)
		s.read(s.backlog.text, true)
	}
}

// expire gives up streams whose last line is too far back.
func (r *Reader) expire() {
	pending := 0
	for _, s := range r.waiting {
		pending += len(s.backlog.text)
	}
	r.giveUp(func(s *source) bool { return pending > r.maxLength || r.lines-s.last > patience })
}

var newline = []byte{'\n'}
