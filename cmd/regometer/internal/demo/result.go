// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/regometer/regometer/report"
	"github.com/regometer/regometer/rollup"
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

	// LogReport is the report of the decision log, as regometer report has it.
	LogReport json.RawMessage `json:"log_report"`
	log       *report.Report
	// Compared is how many figures of it were compared with /metrics, and
	// Differences those that were not the same.
	Compared    int      `json:"compared_figures"`
	Differences []string `json:"differing_figures,omitempty"`
}

// outcomeCount holds how many requests had to lead to an outcome, and how many
// decisions with it were logged.
type outcomeCount struct {
	Outcome outcome `json:"outcome"`
	Sent    int     `json:"sent"`
	Logged  int     `json:"logged"`
}

// result sums up the run, which ended with runErr.
func (r *run) result(ctx context.Context, runErr error) (*result, error) {
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

	if err := res.readLog(ctx, filepath.Join(r.dir, dropInLogFile)); err != nil {
		return nil, fmt.Errorf("the server's decision log cannot be read: %w", err)
	}
	if r.scraped != nil {
		compareScraped(res.Stages, r.scraped.stages)
		res.Compared = len(r.scraped.figures)
		res.Differences = differences(r.scraped.figures, figuresOf(res.log))
	}
	logged := logged(res.log)
	for _, o := range outcomes {
		res.Decisions = append(res.Decisions, outcomeCount{o, r.dropIn.sent[o], logged[o]})
	}
	return res, nil
}

// logged returns how many decisions a log has of each outcome.
func logged(log *report.Report) map[outcome]int {
	counts := map[outcome]int{}
	for o, n := range log.Total.Outcomes {
		counts[outcome(rollup.Outcome(o).String())] = int(n)
	}
	return counts
}

// readLog sets what the decision log says.
func (r *result) readLog(ctx context.Context, file string) (err error) {
	if r.log, err = report.Read(ctx, report.Options{Inputs: []string{file}}); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r.log); err != nil {
		return err
	}
	r.LogReport = b.Bytes()

	log, err := os.Open(file)
	if err != nil {
		return err
	}
	defer log.Close()
	stages, err := readStages(log)
	if err != nil {
		return err
	}
	r.Stages = stages.table()
	return nil
}

// consistent returns an error unless the answers and the decision log are what
// the workload must lead to, and /metrics agrees with the decision log and its
// report.
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
	for _, p := range r.log.Inputs.Problems {
		errs = append(errs, fmt.Errorf("the decision log has a problem %d times: %s", p.Count, p.Kind))
	}
	if n := len(r.Differences); n > 0 {
		const most = 5
		text := strings.Join(r.Differences[:min(n, most)], "\n  ")
		if n > most {
			text += fmt.Sprintf("\n  and %d more", n-most)
		}
		errs = append(errs, fmt.Errorf("the report of the decision log does not agree with /metrics:\n  %s", text))
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
