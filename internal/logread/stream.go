// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"slices"
)

// patience limits how many lines of other streams may come while a stream waits
// for the rest of a line or value.
const patience = 64

// maxWaiting limits the streams that wait for more text. Only a line that
// begins many streams can exceed it.
const maxWaiting = 256

// streamName returns the name of the stream of a text: see give.
func (f *finder) streamName(name []byte) []byte {
	s := f.source
	if s.speaker == nil { // once, since a record may have many members
		s.speaker = appendSpeaker([]byte{}, s.record, 3)
	}
	f.name = append(append(append(append(f.name[:0], s.name...), 0), s.speaker...), name...)
	return f.name
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
		s.backlog = append(s.backlog[:0], s.backlog[f.read(s, s.backlog, false):]...)
	}
	at, waits := slices.Index(f.waiting, s), s.waits()
	if waits {
		s.times = copyAll(f.times)
	}
	switch {
	case waits && len(f.waiting) == maxWaiting && at < 0:
		f.read(s, s.backlog, true)
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
		f.read(s, s.backlog, true)
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

// speakers are the members of a wrapper that name the process that has written
// the text in it. The lines of one text have the same speakers.
var speakers = []string{
	"stream", "pod", "pod_name", "podName", "pod_id", "container", "container_name", "containerName", "container_id", "host", "hostname",
	"instance", "logStream", "logStreamName", "unit", "_PID", "_HOSTNAME", "_SYSTEMD_UNIT",
	"name", "PodName", "ContainerName", "ContainerId", "Computer", "k8s.pod.name", "host.name", "alloc_id", "task", "file",
}

// appendSpeaker appends the values of speakers in a wrapper, down to a few
// levels.
func appendSpeaker(dst, object []byte, levels int) []byte {
	each(object, func(name, value []byte) {
		switch {
		case name == nil: // in a list
		case value[0] == '{' && levels > 0 && !fieldOf(name[1:len(name)-1]).isData():
			dst = appendSpeaker(dst, value, levels-1)
		case value[0] == '"' && len(name) < 20 && slices.Contains(speakers, string(name[1:len(name)-1])):
			dst = append(append(append(dst, name...), value...), 0)
		}
	})
	return dst
}
