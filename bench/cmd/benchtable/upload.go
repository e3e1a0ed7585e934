// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// An uploadSink is a service that takes the decision log of a server, and only
// counts the decisions.
type uploadSink struct{ decisions atomic.Int64 }

// uploadConfig configures a server that uploads to a URL as soon as it can.
const uploadConfig = `{"services": {"sink": {"url": "http://%s"}},
	"decision_logs": {"service": "sink", "reporting": {"min_delay_seconds": 1, "max_delay_seconds": 1}}}`

// ServeHTTP implements http.Handler.
func (s *uploadSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	unpacked, err := gzip.NewReader(r.Body)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(unpacked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.decisions.Add(int64(bytes.Count(text, []byte(`"decision_id":`))))
}

// wait waits until the service has so many decisions.
func (s *uploadSink) wait(ctx context.Context, decisions int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for s.decisions.Load() < int64(decisions) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d decisions were uploaded: %w", s.decisions.Load(), decisions, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
