// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/replay"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// A result is the outcome of the demo.
type result struct {
	opa         string // the version
	seed        uint64
	requests    int        // to each server
	same        text.Table // the outcomes and stages, by each source
	differences []string   // between the log, the requests and /metrics
	costs       []cost     // of a decision
	log         *report.Report
	replay      *replay.Report
}

// times are a number of timers, and their sum in ns.
type times struct {
	Count uint64
	Sum   int64
}

// compare compares the log with the requests and with /metrics, where only the
// known stages have a name.
func (r *result) compare(sent map[string]uint64, metrics []byte) {
	differ := func(format string, args ...any) { r.differences = append(r.differences, fmt.Sprintf(format, args...)) }
	r.same.Columns = text.Columns(1, "decisions", "requests", "log", "Prometheus")
	for _, p := range r.log.Inputs.Problems {
		differ("the log has this problem %d times: %s", p.Count, p.Kind)
	}
	for i, n := range r.log.Total.Outcomes {
		name := outcome.Outcome(i).String()
		scraped := uint64(total(metrics, "opa_decisions_total", `outcome="`+name+`"`))
		if sent[name] != n || n != scraped {
			differ("%s: %d requests, %d decisions in the log, %d in /metrics", name, sent[name], n, scraped)
		}
		if n > 0 {
			r.same.Add(name, text.Count(sent[name]), text.Count(n), text.Count(scraped))
		}
	}
	logged := map[string]times{}
	for i := range r.log.Total.Stages {
		s := &r.log.Total.Stages[i]
		_, sum := s.Durations.Sum()
		logged[s.Name] = times{s.Durations.Count(), int64(sum)}
	}
	for _, known := range stages.DefaultStages() {
		label, inLog := `stage="`+known.Name+`"`, logged[known.Name]
		scraped := times{
			Count: uint64(total(metrics, "opa_decision_stage_duration_seconds_count", label)),
			Sum:   int64(math.Round(1e9 * total(metrics, "opa_decision_stage_duration_seconds_sum", label))), // exact below 104 days
		}
		if inLog != scraped {
			differ("stage %s: %+v in the log, %+v in /metrics", known.Name, inLog, scraped)
		}
		if inLog.Count > 0 {
			r.same.Add("in "+known.Name, "", inLog.text(), scraped.text())
		}
	}
}

// agreement returns an error if there are differences.
func (r *result) agreement() error {
	if len(r.differences) == 0 {
		return nil
	}
	return errors.New("the decision log disagrees with the requests or with /metrics:\n  " + strings.Join(r.differences, "\n  "))
}

// text returns the result for people to read.
func (r *result) text(o output.Options) []byte {
	var b bytes.Buffer
	o.Top = 2
	fmt.Fprintf(&b, "OPA %s with Regometer answered %d requests, one at a time (seed %d).\n", r.opa, r.requests, r.seed)
	fmt.Fprintf(&b, "\nWHERE THE TIME WENT, by the server's decision log\n\n")
	_ = output.Write(&b, "table", r.log, o) // fails only if b does

	fmt.Fprintf(&b, "\nWHICH RULES TAKE IT, by a replay of the log: %s of %s have an equal result\n\n",
		text.Count(r.replay.Equal), text.Plural(r.replay.Decisions, "decision"))
	const rules = 5
	writeTable(&b, *r.replay.Profile.RuleTable(rules))

	fmt.Fprintf(&b, "\nTHE SAME IN PROMETHEUS, by the server's /metrics\n\n")
	writeTable(&b, r.same)
	if err := r.agreement(); err != nil {
		fmt.Fprintf(&b, "\nFault: %v\n", err)
	} else {
		fmt.Fprintf(&b, "\nThey agree: each outcome and each stage has the same count and the same sum.\n")
	}

	fmt.Fprintf(&b, "\nWHAT A LOGGED DECISION COSTS, with HTTP, JSON and the decision log on the console\n\n")
	costs := text.Table{Columns: text.Columns(1, "cost", "Regometer", "unmodified", "ratio", "of all rounds")}
	for i, c := range r.costs {
		kind, theirs, ratio, all := costKinds[i], "", "", ""
		if c.ratio > 0 {
			theirs, ratio, all = kind.format(c.unmodified), fmt.Sprintf("%.2f", c.ratio), fmt.Sprintf("%.2f to %.2f", c.least, c.most)
		}
		costs.Add(kind.title, kind.format(c.dropIn), theirs, ratio, all)
	}
	writeTable(&b, costs)
	fmt.Fprintf(&b, `
Medians of %d rounds. In each round both servers get the same requests in turns.
Only the server with Regometer has a plugin that exports these metrics. Busy time
is all processor time that Go does not count as idle.
`, rounds)
	return b.Bytes()
}

func (t times) text() string { return text.Count(t.Count) + ", " + text.Duration(float64(t.Sum)) }

// writeTable writes a table as wide as its content.
func writeTable(b *bytes.Buffer, t text.Table) {
	t.Fit(math.MaxInt, 0)
	fmt.Fprintln(b, strings.Join(append([]string{t.Head()}, t.Lines()...), "\n"))
}
