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

// noteLoss notes a line of OPA's decision logger, the object that p has parsed.
// A wrapper may have it twice. Text that a policy prints is in a line without a
// plugin. Most lines are of others.
func (f *finder) noteLoss(p *parser, text []byte) {
	isInfo := string(p.optional(fieldLevel)) == `"info"` // OPA says it as an error
	if f.reader.options.Loss == nil || isInfo || !bytes.Contains(text, names[2]) || string(Field(text, "plugin")) != `"decision_logs"` {
		return
	}
	message := p.text(fieldMsg)
	if message == nil { // a shipper has renamed it
		message = textOf(Field(text, "message"))
	}
	id := maphash.Bytes(seed, slices.Concat(message, p.optional(fieldTime)))
	for _, l := range losses {
		found := l.begin.FindSubmatch(message)
		if found == nil || id == f.loss {
			continue
		}
		n, _ := digits(found[len(found)-1], 0) // 0 without a number
		f.loss = id
		f.reader.options.Loss(l.kind, max(1, n), p.findTime(f.times), f.source.line())
	}
}

// logfmt matches a line of OPA's decision logger in a program that embeds OPA
// and does not choose a format. The quotes in a message are escaped.
var logfmt = regexp.MustCompile(`^time=("[^"]*") level=error msg=("(?:[^"\\]|\\.)*") plugin=decision_logs\r?$`)
