// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"cmp"
	"slices"
)

// usualLength limits the text of an event, in bytes, if Options does not.
const usualLength = 64 << 20

// NewReader returns a reader.
func NewReader(o Options) *Reader {
	o.MaxLength = cmp.Or(o.MaxLength, usualLength)
	r := &Reader{options: o, finder: finder{parsers: new([maxNesting + 2]parser)}}
	judge := &judge{verdicts: o.Verdicts}
	for i := range r.finder.parsers {
		p := &r.finder.parsers[i]
		p.judge, p.metrics.ask = judge, o.Metric
	}
	r.Reset()
	return r
}

// Reset makes r ready for another file. The reader remembers keys, which makes
// reading faster and does not change the result.
func (r *Reader) Reset() {
	*r = Reader{options: r.options, finder: finder{parsers: r.finder.parsers, read: (*source).read, names: r.finder.names}}
	r.root.reader, r.finder.reader = r, r
	for i := range r.finder.parsers {
		p := &r.finder.parsers[i]
		p.json, p.decoded, p.nested, p.members, p.present = nil, nil, nil, nil, 0
		if len(p.lines.known) == mostKeys { // many of them may be useless for the next file
			p.lines.known = nil
		}
	}
}

// Forget makes r ask Options.Metric for all numbers again. Options.Event may
// call Forget, and must not use the numbers of its event afterwards.
func (r *Reader) Forget() {
	for i := range r.finder.parsers {
		r.finder.parsers[i].metrics.lines.known = nil
	}
}

// Read reads the next part of the text, and returns the number of bytes that it
// has dealt with. The rest, which has less than Options.MaxLength bytes, must be
// given again with more behind it. Read may put values that it has dealt with on
// one line, does not look beyond the length of text, which may be any, and does
// not keep it.
func (r *Reader) Read(text []byte) (n int) { return r.root.read(slices.Clip(text), false) }

// Close reads the rest, the end of the text.
func (r *Reader) Close(rest []byte) {
	r.root.read(slices.Clip(rest), true)
	r.unclosed = r.unclosed || r.root.depth > 0
	r.finder.giveUp(func(*source) bool { return true })
}

// Unclosed reports whether the text ended within an array, or within an object
// around events. So nobody knows how many events are missing.
func (r *Reader) Unclosed() bool { return r.unclosed }

// Counts returns the number of lines of the text, and the number of those that
// are well-formed JSON or plain text and have no event. A value of several
// lines counts once among the latter if a wrapper has split it.
func (r *Reader) Counts() (lines, other int64) {
	lines = r.lines
	if r.root.lineState != (lineState{}) {
		lines++
	}
	return lines, r.other
}
