// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package samplelog writes decision logs like those of Open Policy Agent (OPA),
// of any size and in any container, and says what they contain.
//
// It uses neither a clock nor the system's randomness: the same options give
// the same text on every machine. Durations are log-normal, and the duration of
// a stage includes those of the stages in it. Decisions do not depend on the
// container. So the same options, with Decisions instead of Size and without
// bad lines, give the same decisions in all containers.
package samplelog

import (
	"bytes"
	"cmp"
	"io"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/regometer/regometer/internal/logread"
)

var compressions = []string{"none", "gzip", "zstd"}

// Write writes a log and returns the truth about it. It keeps some inputs in
// memory, and the durations of up to ExactDecisions decisions. It fails if an
// option is invalid or if out fails.
func Write(out io.Writer, o Options) (*Truth, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	var written byteCount
	counted := io.MultiWriter(out, &written)
	f := formatOf(o.Container)
	w := writer{
		options: &o, format: f, drawer: newDrawer(&o), lines: newSource(o.Seed, 3), labels: labelsOf(&o, f.layout),
		inputs: newInputs(&o, f.layout), truth: newAccount(), time: o.Start.UTC(), out: counted,
	}
	finish := func() error { return nil }
	switch o.Compression {
	case "gzip":
		z := gzip.NewWriter(counted)
		w.out, finish = z, z.Close
		w.nextMember = func() error {
			err := z.Close()
			z.Reset(counted)
			return err
		}
	case "zstd":
		// Several goroutines would begin blocks at other places.
		z, _ := zstd.NewWriter(counted, zstd.WithEncoderConcurrency(1)) // the option is valid
		w.out, finish = z, z.Close
	}
	for w.err == nil && w.more() {
		w.step()
	}
	w.closeArray()
	w.flush()
	if err := cmp.Or(w.err, finish()); err != nil {
		return nil, err
	}
	return w.truth.finish(int64(written)), nil
}

// writer writes events and other lines.
type writer struct {
	options *Options
	format  *format
	drawer  *drawer
	lines   *source // of flaws and other lines
	labels  [servers]string
	inputs  []string
	truth   *account

	out        io.Writer
	nextMember func() error // begins a new member of a gzip file, or nil
	err        error        // the first one
	buffer     []byte       // text before it goes to out
	written    int64        // bytes before the buffer
	newlines   int64        // in the bytes before the buffer

	event   decision
	text    []byte    // of the event
	time    time.Time // of the last event
	isEvent bool      // whether the current line is an event

	arrayBytes int  // bytes of events in the array that is open
	endMember  bool // whether a member of a gzip file ends here
}

func (w *writer) more() bool {
	if w.options.Decisions > 0 {
		return w.truth.Inputs.Decisions < w.options.Decisions
	}
	return w.written+int64(len(w.buffer)) < w.options.Size
}

// step writes an event or another line.
func (w *writer) step() {
	if w.isEvent = !w.lines.chance(w.options.OtherLines); w.isEvent {
		w.writeEvent()
	} else {
		w.truth.Inputs.OtherLines++
		w.wrap([]byte(w.otherLine()))
	}
	const flushBytes = 256 << 10 // of text that goes to out at a time
	if len(w.buffer) >= flushBytes || w.endMember {
		w.flush()
	}
}

func (w *writer) writeEvent() {
	d := &w.event
	w.drawer.draw(d)
	w.time = d.time
	d.flaw = flaw{}
	if w.lines.chance(w.options.BadShare) {
		w.lines.drawFlaw(d, w.format)
		p := valueOf(w.truth.problems, string(d.flaw.problem))
		if p.Count++; len(p.First) < 5 {
			p.First = append(p.First, Place{w.options.File, w.line()})
		}
	}
	w.text = w.appendEvent(w.text[:0], d)
	text, begin := w.text, len(w.buffer)
	switch {
	case d.flaw.problem != logread.InvalidJSON:
		w.wrap(text)
		w.truth.add(d)
	case w.format.uses("$value"): // the line breaks off, not the event in it
		w.wrap(text)
		line := w.buffer[begin : len(w.buffer)-1]
		w.buffer = append(w.buffer[:begin+w.cut(line)], '\n')
	default:
		w.wrap(text[:w.cut(text)])
	}
}

// cut returns where a line breaks off: after the first key begins, and between
// characters.
func (w *writer) cut(line []byte) int {
	at := 2 + w.lines.below(len(line)-2)
	for !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// line returns the line number of an event that follows the buffer.
func (w *writer) line() int64 {
	return 1 + w.newlines + int64(bytes.Count(w.buffer, []byte{'\n'})+bytes.Count([]byte(w.format.open), []byte{'\n'}))
}

func (w *writer) flush() {
	w.newlines += int64(bytes.Count(w.buffer, []byte{'\n'}))
	w.written += int64(len(w.buffer))
	if w.err == nil {
		_, w.err = w.out.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
	if w.endMember && w.nextMember != nil && w.err == nil {
		w.err = w.nextMember()
	}
	w.endMember = false
}

// byteCount counts the bytes that are written to it.
type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}
