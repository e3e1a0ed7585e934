// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"compress/gzip"
	"encoding/json"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"
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

// split returns the JSON of each event of the chunk.
func (dec *chunkDecoder) split() ([]json.RawMessage, error) {
	buf := ast.BytesReaderPool.Get()
	defer ast.BytesReaderPool.Put(buf)

	buf.Reset(dec.raw)

	gr, err := gzip.NewReader(buf)
	if err != nil {
		return nil, err
	}

	var events []json.RawMessage
	if err := json.NewDecoder(gr).Decode(&events); err != nil {
		return nil, err
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
