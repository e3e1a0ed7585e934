// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"hash/maphash"
	"regexp"
	"slices"
)

// What OPA's decision logger says of decisions: see [Options.Loss].
const (
	LostChunks   Problem = "lost_chunks"   // parts of uploads, of any number of decisions, for which OPA had no room
	LostEvents   Problem = "lost_events"   // decisions that OPA could not log
	LostAtStop   Problem = "lost_at_stop"  // OPA stopped, and perhaps had not uploaded all decisions
	UploadFailed Problem = "upload_failed" // an upload that OPA tries again
)

// losses match the beginnings of its messages in OPA 0.20 to 1.22. A group is
// the number. Some are of several decisions, without their number, and count as
// one. A client can put text only behind them. The last one is the error of the
// HTTP client.
var losses = []struct {
	kind  Problem
	begin *regexp.Regexp
}{
	{LostChunks, regexp.MustCompile(`^Dropped (\d{1,9}) chunks from buffer`)},
	{LostEvents, regexp.MustCompile(`^(?:Decision logs? dropped |Dropping |Log encoding failed|encoding failure|upload chunk size |` +
		`upload event size |Log drop decision failed|Log event masking failed|Failed to log to console)`)},
	{LostAtStop, regexp.MustCompile(`^Plugin stopped with decisions possibly still in buffer`)},
	{UploadFailed, regexp.MustCompile(`^(?:Failed to upload decision logs|Error flushing decisions|[lL]og upload failed|Post ")`)},
}

// loss is what a line of a logger says: nothing if n is 0.
type loss struct {
	kind    Problem
	n, line int64
}

func lossIn(message []byte, line int64) loss {
	for _, l := range losses {
		if found := l.begin.FindSubmatch(message); len(found) > 1 {
			n, _ := digits(found[1], 0)
			return loss{l.kind, n, line}
		} else if found != nil {
			return loss{l.kind, 1, line}
		}
	}
	return loss{}
}

// noteLoss notes a line of OPA's decision logger, the object that p has parsed.
// A wrapper may have it twice. Text that a policy prints is in a line without a
// plugin. Most lines are of others.
func (f *finder) noteLoss(p *parser, text []byte) {
	if f.reader.options.Loss == nil || !bytes.Contains(text, names[2]) || string(fieldIn(text, "plugin")) != `"decision_logs"` {
		return
	}
	message := p.text(fieldMsg)
	if message == nil { // a shipper has renamed it
		message = []byte(textOf(fieldIn(text, "message")))
	}
	l := lossIn(message, f.record.line)
	if l.n == 0 {
		return
	}
	id := maphash.Bytes(seed, slices.Concat(message, p.optional(fieldTime)))
	if !slices.Contains(f.losses, id) {
		f.losses = append(f.losses, id)
		f.reader.options.Loss(l.kind, l.n, p.findTime(f.times), l.line)
	}
}

// noteTextLoss notes a line of OPA's decision logger in the text format. Its
// plugin is in a line of its own behind the message.
func (s *source) noteTextLoss(line []byte) {
	message, isError := bytes.CutPrefix(line, []byte("[ERROR] "))
	switch {
	case isError:
		s.loss = lossIn(message, s.line())
	case isLogged(line):
		s.loss = loss{}
	case s.column == 2 && string(bytes.TrimRight(line, "\r")) == `plugin = "decision_logs"`:
		s.endLoss(nil)
	}
}

// logfmt matches a line of OPA's decision logger in a program that embeds OPA
// and does not choose a format. The quotes in a message are escaped.
var logfmt = regexp.MustCompile(`^time="([^"]*)" level=error msg=("(?:[^"\\]|\\.)*") plugin=decision_logs\r?$`)

// noteLogfmtLoss does so with a line of logfmt.
func (s *source) noteLogfmtLoss(line []byte) {
	if !hasPrefix(line, "time=") { // most often
		return
	}
	if fields := logfmt.FindSubmatch(line); fields != nil {
		message, _ := decodeString(nil, fields[2], 0)
		s.loss = lossIn(message, s.line())
		s.endLoss(fields[1])
	}
}

// endLoss passes the loss to Options, with the time of the line or of the text
// around it.
func (s *source) endLoss(time []byte) {
	if l := s.loss; l.n > 0 && s.reader.options.Loss != nil {
		s.reader.options.Loss(l.kind, l.n, new(parser).findTime(append(s.reader.finder.times, time)), l.line)
	}
	s.loss = loss{}
}
