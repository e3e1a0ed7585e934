// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"io"
	"net/http"
	"runtime/debug"

	"github.com/klauspost/compress/gzip"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/opa/plugin"
	"github.com/regometer/regometer/rollup"
)

// bodyReader reads the decisions of bodies.
type bodyReader struct {
	reader   *logread.Reader
	gzip     gzip.Reader
	buffer   []byte
	longest  int      // limits an event, in bytes
	profiler Profiler // or nil

	batch    *plugin.LogBatch
	problems map[string]uint64
	servers  map[string]bool

	keys    []string          // by number of a metric
	paths   map[string]string // the same text, so that decisions share it
	known   int               // bytes of the keys and paths
	labels  []byte            // of the last event
	numbers []rollup.Number
}

const (
	// maxKnown limits the keys and paths that a reader remembers, and maxKey a
	// key, in bytes.
	maxKnown = 1 << 20
	maxKey   = 128
	// maxServers limits the servers of a body, and the servers that are
	// remembered. maxID limits the bytes of a server's id.
	maxServers = 4096
	maxID      = 256
	// usualBuffer is the size of the text that is read at a time. Long events
	// need more. The memory of a reader with more than largeBuffer goes back to
	// the system.
	usualBuffer = 128 << 10
	largeBuffer = 1 << 20
)

// newReader returns a reader of bodies.
func newReader(o Options, c *plugin.LogCounter) *bodyReader {
	b := &bodyReader{
		profiler: o.Profiler, buffer: make([]byte, usualBuffer), longest: int(o.MaxEvent), paths: map[string]string{},
		batch: c.NewBatch(), problems: map[string]uint64{}, servers: map[string]bool{},
	}
	b.reader = logread.NewReader(logread.Options{
		Metric: func(key []byte) int32 {
			if len(key) > maxKey { // a batch may keep many, and no metric with labels has such a key
				key = append(key[:maxKey:maxKey], "_ns"...)
			}
			b.keys = append(b.keys, string(key))
			b.known += len(key)
			return int32(len(b.keys) - 1)
		},
		Event: b.add,
		Problem: func(kind logread.Problem, _ int64) {
			if kind != logread.NoZone && kind != logread.LineTime && kind != logread.WrapperTime { // no time matters
				b.problems[string(kind)]++
			}
		},
		Verdicts: c.Verdicts(), MaxLength: b.longest,
	})
	return b
}

func (b *bodyReader) add(e *logread.Event) {
	b.numbers = b.numbers[:0]
	for _, m := range e.Measures {
		b.numbers = append(b.numbers, rollup.Number{Key: b.keys[m.Metric], Value: m.Value})
	}
	path, ok := b.paths[string(e.Path)]
	if !ok {
		path = string(e.Path)
		b.paths[path] = path
		b.known += len(path)
	}
	b.batch.Add(rollup.Decision{Path: path, Outcome: e.Outcome, Code: e.Code, Numbers: b.numbers})
	if !bytes.Equal(e.Labels, b.labels) {
		b.labels = append(b.labels[:0], e.Labels...)
		if id := e.Label("id"); len(id) > 0 && len(id) <= maxID && len(b.servers) < maxServers && !b.servers[string(id)] {
			b.servers[string(id)] = true
		}
	}
	if b.profiler != nil {
		b.profiler.Offer(e)
	}
	if b.known > maxKnown {
		b.reader.Forget()
		clear(b.paths)
		b.keys, b.known = nil, 0
	}
}

// begin begins an empty batch.
func (b *bodyReader) begin() {
	b.batch.Reset()
	clear(b.problems)
	clear(b.servers)
	b.labels = b.labels[:0]
}

// read reads the decisions of a body into a batch. It returns why they cannot be
// counted, or nil.
func (b *bodyReader) read(text io.Reader, encoding string, o Options) *answer {
	defer b.reader.Reset() // it may have much text
	b.begin()
	switch encoding {
	case "", "identity":
	case "gzip":
		if err := b.gzip.Reset(text); err != nil {
			return refusal("gzip", http.StatusBadRequest, "the body is not gzip, although Content-Encoding says so: %v", err)
		}
		text = &b.gzip
	default:
		return refusal("encoding", http.StatusBadRequest, "unknown Content-Encoding %q: use gzip, or leave it out", encoding)
	}
	have, unpacked := 0, int64(0)
	for {
		n, err := text.Read(b.room(have))
		have += n
		unpacked += int64(n)
		switch {
		case unpacked > o.MaxBody:
			return tooLarge("too_large", "the unpacked body", o.MaxBody)
		case err == io.EOF:
			b.reader.Close(b.buffer[:have])
			have = 0
		case err != nil:
			return refusal("gzip", http.StatusBadRequest, "the body is damaged: %v", err)
		}
		if read := b.reader.Read(b.buffer[:have]); read > 0 {
			have = copy(b.buffer, b.buffer[read:have])
		}
		switch {
		case b.problems[string(logread.TooLong)] > 0:
			return tooLarge("event_too_large", "an event", o.MaxEvent)
		case err == io.EOF:
			if _, other := b.reader.Counts(); b.batch.Len() == 0 && unpacked > 0 && (other > 0 || len(b.problems) > 0) {
				return refusal("no_decisions", http.StatusBadRequest, "the body has no events of a decision log")
			}
			return nil
		}
	}
}

// room returns the rest of the buffer behind the text that it has. It enlarges
// a buffer that is full.
func (b *bodyReader) room(have int) []byte {
	if have == len(b.buffer) {
		larger := make([]byte, min(2*have, b.longest)) // the reader leaves less than longest
		copy(larger, b.buffer)
		b.buffer = larger
	}
	return b.buffer[have:]
}

// shrink gives the memory that a long event has needed back to the system.
func (b *bodyReader) shrink() {
	if len(b.buffer) > largeBuffer {
		b.buffer, b.labels = make([]byte, usualBuffer), nil
		debug.FreeOSMemory()
	}
}

// server returns the id of a server of the body, or "".
func (b *bodyReader) server() string {
	for id := range b.servers {
		return id
	}
	return ""
}

func tooLarge(reason, what string, limit int64) *answer {
	return refusal(reason, http.StatusRequestEntityTooLarge, "%s has more than %d bytes", what, limit)
}
