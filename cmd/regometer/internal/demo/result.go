// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/replay"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
)

// A result is the outcome of the demo.
type result struct {
	opa      string // the version
	requests int    // to each server
	costs    []cost // of a decision
	log      *report.Report
	replay   *replay.Report
	metrics  []byte // what Prometheus gets
}

// same returns the outcomes and the stages by the log and by /metrics.
func (r *result) same() *text.Table {
	t := text.NewTable(1, "decisions", "log", "Prometheus")
	for i, n := range r.log.Total.Outcomes {
		if name := outcome.Outcome(i).String(); n > 0 {
			t.Add(name, text.Count(n), text.Count(uint64(total(r.metrics, "opa_decisions_total", `outcome="`+name+`"`))))
		}
	}
	times := func(count uint64, ns float64) string { return text.Count(count) + ", " + text.Duration(ns) }
	for _, s := range r.log.Total.Stages {
		const name = "opa_decision_stage_duration_seconds"
		_, sum := s.Durations.Sum()
		if label := `stage="` + s.Name + `"`; total(r.metrics, name+"_count", label) > 0 { // other stages have no name there
			t.Add("in "+s.Name, times(s.Durations.Count(), float64(sum)), times(uint64(total(r.metrics, name+"_count", label)), 1e9*total(r.metrics, name+"_sum", label)))
		}
	}
	return t
}

// text returns the result for people to read.
func (r *result) text(o output.Options) []byte {
	var b bytes.Buffer
	o.Top = 2
	fmt.Fprintf(&b, "OPA %s with Regometer answered %d requests, one at a time.\n", r.opa, r.requests)
	fmt.Fprintf(&b, "\nWHERE THE TIME WENT, by the server's decision log\n\n")
	_ = output.Write(&b, r.log, o) // fails only if b does

	fmt.Fprintf(&b, "\nWHICH RULES TAKE IT, by a replay of the log: %s of %s have an equal result\n\n",
		text.Count(r.replay.Equal), text.Plural(r.replay.Decisions, "decision"))
	rules := r.replay.Profile.RuleTable()
	rules.Rows = text.First(rules.Rows, 5)
	writeTable(&b, rules)

	fmt.Fprintf(&b, "\nTHE SAME IN PROMETHEUS, by the server's /metrics\n\n")
	writeTable(&b, r.same())

	fmt.Fprintf(&b, "\nWHAT A LOGGED DECISION COSTS, with HTTP, JSON and the decision log on the console\n\n")
	costs := text.NewTable(1, "cost", "Regometer", "unmodified", "ratio")
	for i, c := range r.costs {
		kind := costKinds[i]
		costs.Add(kind.title, kind.format(c[0]), kind.format(c[unmodified]), fmt.Sprintf("%.2f", c[0]/c[unmodified]))
	}
	writeTable(&b, costs)
	fmt.Fprint(&b, `
Both servers get the same requests in turns. Only the server with Regometer has a
plugin that exports metrics of the decisions. Busy time is all processor time that
Go does not count as idle.
`)
	return b.Bytes()
}

// writeTable writes a table as wide as its content.
func writeTable(b *bytes.Buffer, t *text.Table) {
	t.Fit(math.MaxInt, 0)
	fmt.Fprintln(b, strings.Join(t.Lines(), "\n"))
}
