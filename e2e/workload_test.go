// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A question is a request to OPA, and where its decision is to be counted.
type question struct {
	method, path, body string
	label, outcome     string
}

// A workload makes questions. progress goes from 0 to 1 while it runs.
type workload func(r *rand.Rand, progress float64) question

// gateway asks who may do what. Towards the end there are more who may not.
func gateway(r *rand.Rand, progress float64) question {
	q := question{method: http.MethodPost, label: "authz/allow", outcome: "allowed"}
	user, action := "alice", "write"
	switch roll := r.Float64(); {
	case roll < 0.15+0.2*math.Max(0, progress-0.6):
		user, q.outcome = "mallory", "denied"
	case roll < 0.5:
		user, action = "bob", "read"
	case roll < 0.6:
		q.label = "authz/decision"
	case roll < 0.65:
		return question{method: http.MethodGet, path: fmt.Sprintf("/v1/data/nowhere/%d", r.IntN(1000)), label: "other", outcome: "undefined"}
	}
	q.path = "/v1/data/" + q.label
	q.body = fmt.Sprintf(`{"input": {"user": %q, "action": %q}}`, user, action)
	return q
}

// search makes evaluation and the input's parser work, more so after half
// of the time.
func search(r *rand.Rand, progress float64) question {
	size := 100 + r.IntN(1500)
	if progress > 0.5 {
		size *= 2
	}
	return question{
		method: http.MethodPost, path: "/v1/data/catalog/matches", label: "catalog/matches", outcome: "result",
		body: fmt.Sprintf(`{"input": {"size": %d, "divisor": %d, "notes": %q}}`, size, 2+r.IntN(9), strings.Repeat("note ", r.IntN(4000))),
	}
}

// calls makes OPA ask another service, fail, and answer ad-hoc queries.
func calls(r *rand.Rand, _ float64) question {
	q := question{method: http.MethodPost, label: "directory/on_call", outcome: "allowed"}
	switch roll := r.Float64(); {
	case roll < 0.5:
		q.body = fmt.Sprintf(`{"input": {"user": "user%d"}}`, r.IntN(1_000_000))
	case roll < 0.65:
		q.outcome, q.body = "undefined", fmt.Sprintf(`{"input": {"user": "off%d"}}`, r.IntN(1_000_000))
	case roll < 0.85:
		q.label, q.body = "directory/office_open", `{"input": {}}`
	case roll < 0.9:
		q.label, q.outcome, q.body = "directory/converted", "error", `{"input": {"n": "no number"}}`
		q.path = "/v1/data/directory/converted?strict-builtin-errors=true"
		return q
	case roll < 0.95:
		q.label, q.outcome, q.body = "directory/converted", "result", fmt.Sprintf(`{"input": {"n": "%d"}}`, r.IntN(1000))
	default:
		return question{method: http.MethodPost, path: "/v1/query", body: `{"query": "x = data.authz.roles.alice"}`, label: "(query)", outcome: "result"}
	}
	q.path = "/v1/data/" + q.label
	return q
}

// run asks a server for some time, by several clients of which each makes up to
// so many requests per second. It returns how many decisions there are by path
// and outcome.
func (s *opa) run(t *testing.T, w workload, duration time.Duration, clients int, perSecond float64) map[[2]string]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	decisions := map[[2]string]int{}
	start := time.Now()
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), uint64(len(s.name))))
			for {
				progress := float64(time.Since(start)) / float64(duration)
				if progress >= 1 || t.Context().Err() != nil {
					return
				}
				q := w(r, progress)
				status, body, err := s.ask(t.Context(), q)
				want := http.StatusOK
				if q.outcome == "error" {
					want = http.StatusInternalServerError
				}
				if err != nil || status != want {
					t.Errorf("%s: %s %s: HTTP status %d, %v: %.300s", s.name, q.method, q.path, status, err, body)
					return
				}
				mu.Lock()
				decisions[[2]string{q.label, q.outcome}]++
				mu.Unlock()
				// In waves, as by day and night.
				rate := perSecond * (1 + 0.5*math.Sin(4*math.Pi*progress))
				time.Sleep(time.Duration(r.ExpFloat64() / rate * float64(time.Second)))
			}
		})
	}
	all.Wait()
	return decisions
}

func (s *opa) ask(ctx context.Context, q question) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, q.method, "http://"+s.address+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0, nil, err
	}
	if q.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}
