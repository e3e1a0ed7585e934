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
	"bufio"
	"cmp"
	"io"
	"strings"
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
	out = io.MultiWriter(out, &written)
	finish := func() error { return nil }
	switch o.Compression {
	case "gzip":
		z := gzip.NewWriter(out)
		out, finish = z, z.Close
	case "zstd":
		// Several goroutines would begin blocks at other places.
		z, _ := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1)) // the option is valid
		out, finish = z, z.Close
	}
	w := writer{
		options: &o, format: formatOf(o.Container), drawer: newDrawer(&o), lines: newSource(o.Seed, 3), labels: labelsOf(&o),
		inputs: newInputs(&o), truth: newAccount(), out: bufio.NewWriterSize(out, 256<<10),
	}
	w.event.time = o.Start.UTC()
	for w.err == nil && (w.truth.Inputs.Decisions < o.Decisions || w.text < o.Size) {
		if w.isEvent = !w.lines.chance(o.OtherLines); w.isEvent {
			w.writeEvent()
			continue
		}
		w.truth.Inputs.OtherLines++
		w.write(w.wrap([]byte(otherLines[w.lines.below(len(otherLines))])))
	}
	w.write(w.closeArray())
	if err := cmp.Or(w.err, w.out.Flush(), finish()); err != nil {
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

	out            *bufio.Writer
	err            error // the first one
	text, newlines int64 // what is written, before compression
	event          decision
	buffer         []byte
	isEvent        bool // whether the current line is an event
	inArray        int  // bytes of events in the array that is open
}

func (w *writer) write(text string) {
	w.text += int64(len(text))
	w.newlines += int64(strings.Count(text, "\n"))
	_, w.err = w.out.WriteString(text) // the writer keeps its first error
}

func (w *writer) writeEvent() {
	d := &w.event
	w.drawer.draw(d)
	d.flaw = ""
	if w.lines.chance(w.options.BadShare) {
		w.lines.drawFlaw(d, w.format)
		p := valueOf(w.truth.problems, string(d.flaw))
		if p.Count++; len(p.First) < 5 {
			line := 1 + w.newlines + int64(strings.Count(w.format.open, "\n"))
			p.First = append(p.First, Place{w.options.File, line})
		}
	}
	text := w.eventOf(d)
	switch {
	case d.flaw != logread.InvalidJSON:
		w.write(w.wrap(text))
		w.truth.add(d)
	case w.format.uses("$value"): // the line breaks off, not the event in it
		line := []byte(w.wrap(text))
		w.write(string(w.cut(line)) + "\n")
	default:
		w.write(w.wrap(w.cut(text)))
	}
}

// cut breaks a line off: after the first key begins, and between characters.
func (w *writer) cut(line []byte) []byte {
	at := 2 + w.lines.below(len(line)-2)
	for !utf8.RuneStart(line[at]) {
		at--
	}
	return line[:at]
}

// byteCount counts the bytes that are written to it.
type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}
