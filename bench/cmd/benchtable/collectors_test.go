// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/opaserver"
)

// post serves a handler, sends it a body and returns the status of the answer.
func post(t *testing.T, handler http.Handler, body string) int {
	t.Helper()
	listener, err := listen(handler)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r, err := http.Post("http://"+listener.Addr().String(), "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode
}

func TestUploadSink(t *testing.T) {
	t.Parallel()
	s := &uploadSink{}
	if status := post(t, s, "no gzip"); status != http.StatusBadRequest {
		t.Errorf("a body that is not gzip gets %d", status)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, `[{"decision_id":"a"},{"decision_id":"b"}]`)
	_ = w.Close()
	if status := post(t, s, packed.String()); status != http.StatusOK {
		t.Errorf("a body gets %d", status)
	}
	if n := s.decisions.Load(); n != 2 {
		t.Errorf("%d decisions are known, want 2", n)
	}
	f := newFakeServer(t, 1000)
	server := runningServer{process: &opaserver.Server{URL: f.URL}, sink: s}
	if _, err := server.load(t.Context(), "", 2); err != nil {
		t.Errorf("all decisions are uploaded, but load fails: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := server.load(ctx, "", 1); err == nil || !strings.Contains(err.Error(), "2 of 3 decisions were uploaded") {
		t.Errorf("the error for a decision that is not uploaded is %v", err)
	}
}

func TestOTLPSink(t *testing.T) {
	t.Parallel()
	s := &otlpSink{}
	s.reset()
	const body = `{"resourceMetrics": [{"scopeMetrics": [{"metrics": [
{"name": "s", "exponentialHistogram": {"dataPoints": [
	{"count": "3", "attributes": [{"key": "path", "value": {"stringValue": "a"}}]},
	{"count": "4", "attributes": [{"key": "path", "value": {"stringValue": "/a"}}]}]}},
{"name": "r", "exponentialHistogram": {"dataPoints": [{"count": "5"}]}}]}]}]}`
	for body, want := range map[string]int{body: http.StatusOK, "{": http.StatusBadRequest} {
		if status := post(t, s, body); status != want {
			t.Errorf("%.20s gets %d, want %d", body, status, want)
		}
	}
	got, _ := s.counts(t.Context())
	want := map[string]float64{
		`opa_decision_stage_duration_seconds_count{stage="s"}`:         7,
		`opa_decision_path_duration_seconds_count{path="a",stage="s"}`: 7,
		`opa_decision_stage_duration_seconds_count{stage="r"}`:         5,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the counts are %v, want %v", got, want)
	}
	if err := sameCounts(want, got); err != nil {
		t.Error(err)
	}
	got[everyDecision] = 1
	if err := sameCounts(want, got); err == nil {
		t.Error("a histogram that Regometer lacks is no error")
	}
}
