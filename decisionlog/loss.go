// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// What OPA's decision logger says of decisions: see [Options.Loss].
const (
	LostChunks   Problem = "lost_chunks"   // parts of uploads, of any number of decisions, for which OPA had no room
	LostEvents   Problem = "lost_events"   // decisions that OPA could not log
	LostAtStop   Problem = "lost_at_stop"  // OPA stopped, and perhaps had not uploaded all decisions
	UploadFailed Problem = "upload_failed" // an upload that OPA tries again
)

// losses are the beginnings of its messages in OPA 0.20 to 1.22. Some lines are
// of several decisions, without their number, and count as one. A client can
// put text only behind these.
var losses = []struct {
	begins string
	kind   Problem
}{
	{"Dropped ", LostChunks}, // and their number
	{"Decision log dropped ", LostEvents},
	{"Decision logs dropped ", LostEvents},
	{"Dropping ", LostEvents},
	{"Log encoding failed", LostEvents},
	{"encoding failure", LostEvents},
	{"upload chunk size ", LostEvents},
	{"upload event size ", LostEvents},
	{"Log drop decision failed", LostEvents},
	{"Log event masking failed", LostEvents},
	{"Failed to log to console", LostEvents},
	{"Plugin stopped with decisions possibly still in buffer", LostAtStop},
	{"Failed to upload decision logs", UploadFailed},
	{"Error flushing decisions", UploadFailed},
	{"log upload failed", UploadFailed},
	{"Log upload failed", UploadFailed},
	{`Post "`, UploadFailed}, // of OPA before 0.40, whose error is the HTTP client's
}

// loss is what a line of a logger says.
type loss struct {
	kind    Problem // "" if it is nothing
	n, line int64
}

func lossIn(message []byte, line int64) loss {
	for i := range losses {
		rest, ok := bytes.CutPrefix(message, []byte(losses[i].begins))
		if !ok {
			continue
		}
		if losses[i].kind != LostChunks {
			return loss{losses[i].kind, 1, line}
		}
		if n, end := digitsAtEnd(rest, 0); end < 10 && hasPrefix(rest[end:], " chunks from buffer") {
			return loss{LostChunks, n, line}
		}
	}
	return loss{}
}

// noteLoss notes a line of OPA's decision logger, the object that p has parsed.
// A wrapper may have it twice. Text that a policy prints is in a line without a
// plugin.
func (f *finder) noteLoss(p *parser) {
	message := p.text(fieldMsg)
	l := lossIn(message, f.record.line)
	if l.kind == "" || f.reader.options.Loss == nil || string(p.fieldIn(p.json, "plugin")) != `"decision_logs"` {
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
	case s.loss.kind != "" && s.reader.options.Loss != nil && s.column == 2 && string(bytes.TrimRight(line, "\r")) == `plugin = "decision_logs"`:
		s.reader.options.Loss(s.loss.kind, s.loss.n, new(parser).findTime(s.reader.finder.times), s.loss.line)
		s.loss = loss{}
	}
}
