// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// result is what the demo reports, as JSON by these names.
type result struct {
	OPA          string          `json:"opa_version"`
	Seed         uint64          `json:"seed"`
	Incomplete   string          `json:"incomplete,omitempty"` // why the run ended early
	Requests     int             `json:"requests"`
	Decisions    []outcomeCount  `json:"decisions"`
	Unexpected   string          `json:"unexpected_answers,omitempty"`
	Metrics      json.RawMessage `json:"metrics_example,omitempty"`
	Instrumented json.RawMessage `json:"instrumented_example,omitempty"`
	Stages       []stage         `json:"stages"`
	Comparison   *comparison     `json:"comparison,omitempty"`
}

// outcomeCount holds how many requests had to lead to an outcome, and how many
// decisions with it were logged.
type outcomeCount struct {
	Outcome outcome `json:"outcome"`
	Sent    int     `json:"sent"`
	Logged  int     `json:"logged"`
}

// result sums up the run, which ended with runErr.
func (r *run) result(runErr error) (*result, error) {
	res := &result{
		OPA: r.version, Seed: r.Seed, Requests: r.dropIn.requests,
		Metrics: r.dropIn.metrics, Instrumented: r.dropIn.instrumented,
		Comparison: compare(r.rounds),
	}
	switch {
	case errors.Is(runErr, context.Canceled):
		res.Incomplete = "interrupted"
	case runErr != nil:
		res.Incomplete = runErr.Error()
	}
	if err := r.dropIn.unexpected(sideDropIn); err != nil {
		res.Unexpected = err.Error()
	}

	log, err := os.Open(filepath.Join(r.dir, dropInLogFile))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	logged, stages := map[outcome]int{}, stages{}
	err = readDecisions(log, func(d decision) {
		logged[d.outcome]++
		stages.add(d.timers)
	})
	if err != nil {
		return nil, fmt.Errorf("the server's decision log cannot be read: %w", err)
	}
	res.Stages = stages.table()
	compareScraped(res.Stages, r.scraped)
	for _, o := range outcomes {
		res.Decisions = append(res.Decisions, outcomeCount{o, r.dropIn.sent[o], logged[o]})
	}
	return res, nil
}

// consistent returns an error unless the answers and the decision log are what
// the workload must lead to, and /metrics agrees with the decision log.
func (r *result) consistent() error {
	var errs []error
	if r.Unexpected != "" {
		errs = append(errs, errors.New(r.Unexpected))
	}
	var wrong []string
	for _, d := range r.Decisions {
		if want := d.mustBeLogged(); d.Logged != want {
			wrong = append(wrong, fmt.Sprintf("%d decisions %q instead of %d", d.Logged, d.Outcome, want))
		}
	}
	if wrong != nil {
		errs = append(errs, fmt.Errorf("the decision log does not agree with what was sent: it holds %s", strings.Join(wrong, ", ")))
	}
	for _, s := range r.Stages {
		errs = append(errs, s.agrees())
	}
	return errors.Join(errs...)
}

func (c outcomeCount) mustBeLogged() int {
	if c.Outcome == malformed {
		return 0
	}
	return c.Sent
}
