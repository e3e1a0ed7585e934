// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/rollup"
)

// result is what the demo prints.
type result struct {
	OPA         string          `json:"opa_version"`
	Seed        uint64          `json:"seed"`
	Requests    int             `json:"requests"` // to each server
	Decisions   []outcome       `json:"decisions"`
	Stages      []stage         `json:"stages"`
	Differences []string        `json:"differences"` // of the log from the requests and /metrics
	PerDecision []cost          `json:"per_decision"`
	LogReport   json.RawMessage `json:"log_report"`
	log         *report.Report
}

// outcome holds how many requests and decisions had an outcome.
type outcome struct {
	Name    string `json:"outcome"`
	Sent    int    `json:"sent"`
	Logged  int    `json:"logged"`
	Scraped int    `json:"scraped"`
}

// stage holds what a stage took over all paths.
type stage struct {
	Name    string `json:"name"`
	Logged  times  `json:"logged"`
	Scraped times  `json:"scraped"`
}

type times struct {
	Count uint64  `json:"count"`
	Sum   int64   `json:"sum_ns"`
	P50   float64 `json:"p50_ns"`
	P99   float64 `json:"p99_ns"`
}

// cost is what a decision costs. Without an unmodified OPA only DropIn is set.
type cost struct {
	Name       string  `json:"name"`
	Unmodified float64 `json:"unmodified,omitzero"`
	DropIn     float64 `json:"drop_in"`
	Ratio      float64 `json:"ratio,omitzero"`     // of the medians
	RatioMin   float64 `json:"ratio_min,omitzero"` // of all rounds
	RatioMax   float64 `json:"ratio_max,omitzero"`
}

// mediansOf returns the medians of the rounds' costs.
func mediansOf(rounds [][]cost) (all []cost) {
	for kind := range costs {
		var theirs, ours, ratios []float64
		for _, r := range rounds {
			theirs = append(theirs, r[kind].Unmodified)
			ours = append(ours, r[kind].DropIn)
			ratios = append(ratios, r[kind].DropIn/r[kind].Unmodified)
		}
		slices.Sort(theirs)
		slices.Sort(ours)
		c := cost{Name: costs[kind].name, Unmodified: theirs[len(rounds)/2], DropIn: ours[len(rounds)/2]}
		if theirs[0] > 0 {
			c.Ratio, c.RatioMin, c.RatioMax = c.DropIn/c.Unmodified, slices.Min(ratios), slices.Max(ratios)
		}
		all = append(all, c)
	}
	return all
}

// compareOutcomes compares the log with the requests and with /metrics.
func (r *result) compareOutcomes(sent map[string]int, m metrics) {
	for _, p := range r.log.Inputs.Problems {
		r.differ("the log has this problem %d times: %s", p.Count, p.Kind)
	}
	for i, n := range r.log.Total.Outcomes {
		name := rollup.Outcome(i).String()
		o := outcome{name, sent[name], int(n), int(m.total("opa_decisions_total", "outcome", name))}
		if o.Sent != o.Logged || o.Sent != o.Scraped {
			r.differ("%s: %d requests, %d decisions in the log, %d in /metrics", name, o.Sent, o.Logged, o.Scraped)
		}
		if o.Sent > 0 {
			r.Decisions = append(r.Decisions, o)
		}
	}
}

// compareStages compares the log with /metrics, where only the stages that are
// known have a name.
func (r *result) compareStages(m metrics) {
	logged, scraped, width := map[string]times{}, map[string]times{}, 0.0
	for i := range r.log.Total.Stages {
		if d := &r.log.Total.Stages[i].Durations; d.Count() > 0 {
			_, sum := d.Sum()
			logged[r.log.Total.Stages[i].Name] = times{d.Count(), int64(sum), d.Quantile(0.5), d.Quantile(0.99)}
		}
	}
	for _, metric := range m["opa_decision_stage_duration_seconds"] {
		h := metric.GetHistogram()
		sum := int64(math.Round(1e9 * h.GetSampleSum())) // exact below 2^53 ns, 104 days
		for _, stage := range metric.GetLabel() {        // there is no other label
			scraped[stage.GetValue()] = times{h.GetSampleCount(), sum, 1e9 * quantile(h, 0.5), 1e9 * quantile(h, 0.99)}
		}
		width = max(width, bucketWidth(h))
	}
	for _, known := range rollup.DefaultStages() {
		s := stage{known.Name, logged[known.Name], scraped[known.Name]}
		if s.Logged.Count != s.Scraped.Count || s.Logged.Sum != s.Scraped.Sum ||
			apart(s.Logged.P50, s.Scraped.P50, width) || apart(s.Logged.P99, s.Scraped.P99, width) {
			r.differ("stage %s: %+v in the log, %+v in /metrics", s.Name, s.Logged, s.Scraped)
		}
		if s.Logged.Count > 0 {
			r.Stages = append(r.Stages, s)
		}
	}
}

// apart reports whether two percentiles cannot be in the same bucket.
func apart(a, b, width float64) bool { return a != b && math.Abs(math.Log2(a/b)) > 1.001*width }

func (r *result) differ(format string, args ...any) {
	r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
}

// agreement returns an error if there are differences.
func (r *result) agreement() error {
	if len(r.Differences) == 0 {
		return nil
	}
	return errors.New("the decision log does not agree with the requests or with /metrics:\n  " + strings.Join(r.Differences, "\n  "))
}

// json returns the result as JSON, with the log's report.
func (r *result) json() ([]byte, error) {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r.log); err != nil {
		return nil, err
	}
	r.LogReport = b.Bytes()
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// text returns the result for people to read.
func (r *result) text(table text.Options) []byte {
	var b bytes.Buffer
	table.Top = 2
	fmt.Fprintf(&b, "OPA %s with Regometer answered %d requests, one at a time (seed %d).\n", r.OPA, r.Requests, r.Seed)

	fmt.Fprintf(&b, "\nWHERE THE TIME WENT, by the server's decision log\n\n")
	_ = report.WriteTable(&b, r.log, table) // fails only if b does

	fmt.Fprintf(&b, "\nTHE SAME IN PROMETHEUS, by the server's /metrics\n\n%-24s %13s %13s %13s\n", "outcome", "requests", "log", "Prometheus")
	for _, o := range r.Decisions {
		fmt.Fprintf(&b, "%-24s %13d %13d %13d\n", o.Name, o.Sent, o.Logged, o.Scraped)
	}
	fmt.Fprintf(&b, "\n%-24s %13s %13s %13s %13s\n", "stage, times in µs", "p50, log", "Prometheus", "p99, log", "Prometheus")
	for _, s := range r.Stages {
		fmt.Fprintf(&b, "%-24s %13.1f %13.1f %13.1f %13.1f\n", s.Name, s.Logged.P50/1e3, s.Scraped.P50/1e3, s.Logged.P99/1e3, s.Scraped.P99/1e3)
	}
	if err := r.agreement(); err != nil {
		fmt.Fprintf(&b, "\nFault: %v\n", err)
	} else {
		fmt.Fprint(&b, `
They agree: each stage has the same count and the same sum, and percentiles differ
by at most the width of a histogram's bucket.
`)
	}

	fmt.Fprintf(&b, "\nWHAT A DECISION COSTS, with HTTP, JSON and the decision log\n\n%-24s %13s %13s %8s %16s\n", "", "Regometer", "unmodified", "ratio", "of all rounds")
	for i, c := range r.PerDecision {
		fmt.Fprintf(&b, "%-24s %13.1f", costs[i].title, c.DropIn)
		if c.Ratio > 0 {
			fmt.Fprintf(&b, " %13.1f %8.2f %8.2f to %.2f", c.Unmodified, c.Ratio, c.RatioMin, c.RatioMax)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, `
Medians of %d rounds; in each, both servers get the same requests by turns. Only
the server with Regometer has a plugin that exports these metrics. Busy time is
all time that Go does not count as idle.

WHAT NEXT

regometer report FILE|FOLDER ...         where the time went, by your decision logs
regometer opa -- run --server ./policy   this OPA with your policy
regometer verify                         OPA's own tests, with and without Regometer
`, rounds)
	return b.Bytes()
}
