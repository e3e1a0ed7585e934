// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A question is a request to OPA. label and outcome say where its decision must
// be counted.
type question struct {
	method, path, body string
	label, outcome     string
}

// A workload makes questions. progress goes from 0 to 1 while it runs.
type workload func(r *rand.Rand, progress float64) question

// gateway asks for permissions. Towards the end more of them are denied.
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

// search makes evaluation and the input's parser work, and more after half of
// the time.
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

// run lets several clients ask a server for some time. Each makes up to
// perSecond requests a second. run adds to s.sent.
func (s *opa) run(t *testing.T, w workload, duration time.Duration, clients int, perSecond float64) {
	var all sync.WaitGroup
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
				if !assert.NoError(t, s.ask(t, q)) {
					return
				}
				s.mu.Lock()
				s.sent[[2]string{q.label, q.outcome}]++
				s.mu.Unlock()
				// In waves, as by day and night.
				rate := perSecond * (1 + 0.5*math.Sin(4*math.Pi*progress))
				time.Sleep(time.Duration(r.ExpFloat64() / rate * float64(time.Second)))
			}
		})
	}
	all.Wait()
}
