// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"github.com/open-policy-agent/opa/v1/util"
	"io"
	"sync"
)

// gzipWriters has the writers that no encoder uses at present. A writer takes
// 800 KB.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// encodeWithoutNDBCache returns the JSON of an event without its ND cache, or
// nil if it has none. The event may be nil.
func encodeWithoutNDBCache(event *EventV1, eventBytes []byte) ([]byte, error) {
	var e EventV1
	if event != nil {
		e = *event
	} else if err := decodeEvent(eventBytes, &e); err != nil {
		return nil, err
	}
	if e.NDBuiltinCache == nil {
		return nil, nil
	}
	e.NDBuiltinCache = nil
	return json.Marshal(&e)
}

// splitChunk returns the JSON of the events of a chunk. Its caller knows their sizes.
func splitChunk(chunk []byte, sizes []int) ([]json.RawMessage, error) {
	gr, err := gzip.NewReader(bytes.NewReader(chunk))
	if err != nil {
		return nil, err
	}

	n := len("]")
	for _, size := range sizes {
		n += len(",") + size
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(gr, text); err != nil {
		return nil, err
	}

	events := make([]json.RawMessage, 0, len(sizes)+1) // a caller appends an event
	for _, size := range sizes {
		text = text[1:] // "[" or ","
		events = append(events, text[:size:size])
		text = text[size:]
	}
	return events, gr.Close()
}

// decodeEvent decodes an event. Its error becomes an encodedError.
func decodeEvent(eventBytes []byte, event *EventV1) error {
	encoded := &encodedError{}
	event.Error = encoded // the decoder needs a concrete type in the interface
	if err := util.UnmarshalJSON(eventBytes, event); err != nil {
		return err
	}
	if encoded.RawMessage == nil {
		event.Error = nil
	}
	return nil
}

// encodedError is the JSON of an event's error. It is encoded again as it is.
type encodedError struct{ json.RawMessage }

func (e *encodedError) Error() string { return string(e.RawMessage) }
