// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"io"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Write writes a log and returns what is in it. It needs memory for a few
// inputs, and for the durations of up to ExactDecisions decisions.
func Write(out io.Writer, o Options) (*Truth, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	counted := &countingWriter{out: out}
	compressed, err := compress(counted, o.Compression)
	if err != nil {
		return nil, err
	}
	w := newWriter(compressed, &o)
	for w.more() {
		if err := w.step(); err != nil {
			return nil, err
		}
	}
	w.buffer = w.closeArray(w.buffer)
	if err := w.flush(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return w.truth.truth(pathName, counted.bytes), nil
}

// flushBytes is how much text is handed on at a time.
const flushBytes = 256 << 10

// writer writes events and other lines.
type writer struct {
	options  *Options
	format   *format
	renderer *renderer
	drawer   *drawer
	lines    *source // of flaws and other lines
	bad      uint64  // share, in units of 2^-64
	other    uint64
	truth    account

	out      io.WriteCloser
	buffer   []byte // text that is not yet handed on
	written  int64  // bytes before the buffer
	newlines int64  // in these

	// Of the line that is being written:
	event   decision
	text    []byte
	time    time.Time
	isEvent bool

	array     int  // bytes of events in the array that is open
	endMember bool // whether a member of a gzip file ends here
}

func newWriter(out io.WriteCloser, o *Options) *writer {
	f := formatOf(o.Container)
	w := &writer{
		options: o, format: f, renderer: newRenderer(o, *f.layout), lines: newSource(o.Seed, 3),
		bad: share(o.BadShare), other: share(o.OtherLines), out: out, time: o.Start.UTC(),
		truth: account{problems: map[string]*Problem{}, paths: make([]*pathAccount, o.Paths)},
	}
	w.renderer.inputs = newInputs(o, *f.layout)
	_, size := inputsOf(o)
	w.drawer = newDrawer(o, len(w.renderer.inputs), size)
	return w
}

// share returns a share of 1 in units of 2^-64.
func share(of float64) uint64 { return uint64(of*(1<<53)) << 11 }

func (w *writer) more() bool {
	if w.options.Decisions > 0 {
		return w.truth.decisions < w.options.Decisions
	}
	return w.written+int64(len(w.buffer)) < w.options.Size
}

// step writes an event or another line.
func (w *writer) step() error {
	if w.isEvent = !w.lines.chance(w.other); w.isEvent {
		w.writeEvent()
	} else {
		w.truth.others++
		w.text = w.otherLine(w.text[:0])
		w.buffer = w.format.wrap(w, w.buffer, w.text)
	}
	if len(w.buffer) >= flushBytes || w.endMember {
		return w.flush()
	}
	return nil
}

func (w *writer) writeEvent() {
	d, f := &w.event, w.format
	w.drawer.draw(d)
	w.time = d.time
	d.flaw = sound
	if w.lines.chance(w.bad) {
		drawFlaw(w.lines, d, f)
		w.truth.problem(string(problems[d.flaw]), w.options.File, w.line)
	}
	w.text = w.renderer.event(w.text[:0], d)
	if d.flaw != cutOff {
		w.buffer = f.wrap(w, w.buffer, w.text)
		w.truth.add(d)
		return
	}
	if f.whole {
		begin := len(w.buffer)
		w.buffer = f.wrap(w, w.buffer, w.text)
		end := begin + w.cut(w.buffer[begin:len(w.buffer)-1])
		w.buffer = append(w.buffer[:end], '\n')
		return
	}
	w.buffer = f.wrap(w, w.buffer, w.text[:w.cut(w.text)])
}

// cut returns where a line breaks off: after the first key began, and between
// characters.
func (w *writer) cut(line []byte) int {
	at := 2 + int(w.lines.below(uint64(len(line)-2)))
	for !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// line returns the number of the line that begins at the end of the buffer. An
// event that begins an array is on the line after its bracket if it is pretty.
func (w *writer) line() int64 {
	n := 1 + w.newlines + int64(bytes.Count(w.buffer, []byte{'\n'}))
	if w.format.name == "pretty" {
		n++
	}
	return n
}

func (w *writer) flush() error {
	w.newlines += int64(bytes.Count(w.buffer, []byte{'\n'}))
	w.written += int64(len(w.buffer))
	_, err := w.out.Write(w.buffer)
	w.buffer = w.buffer[:0]
	if m, ok := w.out.(*members); ok && w.endMember && err == nil {
		err = m.end()
	}
	w.endMember = false
	return err
}

// countingWriter counts what passes.
type countingWriter struct {
	out   io.Writer
	bytes int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	c.bytes += int64(n)
	return n, err
}

var compressions = []string{"none", "gzip", "zstd"}

func compress(out io.Writer, compression string) (io.WriteCloser, error) {
	switch compression {
	case "gzip":
		return &members{out: out, Writer: gzip.NewWriter(out)}, nil
	case "zstd":
		// Several goroutines would begin blocks elsewhere.
		return zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	default:
		return nopCloser{out}, nil
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// members writes a gzip file of one or more members.
type members struct {
	out io.Writer
	*gzip.Writer
}

// end ends a member. What is written next is in another.
func (m *members) end() error {
	err := m.Close()
	m.Reset(m.out)
	return err
}
