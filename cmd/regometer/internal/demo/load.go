// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// tally counts what was sent to one server and came back.
type tally struct {
	requests int
	sent     map[outcome]int // by what the requests had to lead to
	wrong    int             // answers other than the request's
	example  string          // the first of them

	metrics      json.RawMessage // of the last answer to a ?metrics=true request
	instrumented json.RawMessage // of the last answer to a ?instrument=true request
}

func newTally() *tally { return &tally{sent: map[outcome]int{}} }

// unexpected returns an error if there were wrong answers.
func (t *tally) unexpected(side string) error {
	if t.wrong == 0 {
		return nil
	}
	return fmt.Errorf("the %s answered %d of %d requests otherwise than it must, the first was %s", side, t.wrong, t.requests, t.example)
}

// send sends requests to the server one after the other, and counts them.
func (s *server) send(ctx context.Context, requests []request, t *tally) error {
	for _, q := range requests {
		status, body, err := s.Do(ctx, http.MethodPost, q.path, q.body)
		if err != nil {
			return err
		}
		t.add(q, status, body)
	}
	return nil
}

func (t *tally) add(q request, status int, body []byte) {
	t.requests++
	t.sent[q.want]++
	var answer struct {
		Result  json.RawMessage `json:"result"`
		Metrics json.RawMessage `json:"metrics"`
	}
	got := failed
	err := json.Unmarshal(body, &answer)
	switch {
	case err != nil:
	case status == http.StatusBadRequest:
		got = malformed
	case status != http.StatusOK:
	default:
		got = q.outcome(answer.Result)
	}
	if got != q.want || status != q.wantStatus() || err != nil {
		t.wrong++
		if t.example == "" {
			t.example = fmt.Sprintf("POST %s %s: HTTP status %d, %.300s; wanted: %s", q.path, q.body, status, body, q.want)
		}
	}
	if q.showMetrics {
		t.metrics = answer.Metrics
	}
	if q.instrumented {
		t.instrumented = answer.Metrics
	}
}
