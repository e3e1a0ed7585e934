// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares an output with a file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it):\n%s", path, got)
	}
}

// written returns what a function writes.
func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// stageOf returns a stage that took these times.
func stageOf(name string, times ...time.Duration) groupby.Stage {
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	s := groupby.Stage{Name: name}
	for _, d := range times {
		h.Record(int64(d))
		s.Self = s.Self.Plus(groupby.Sum{Lo: uint64(d)})
	}
	h.Snapshot(&s.Durations)
	return s
}

// same returns n times the same.
func same(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// groupOf returns a group of these outcomes and stages.
func groupOf(key string, outcomes [6]uint64, stages ...groupby.Stage) Group {
	g := Group{Key: key, Decisions: Decisions(outcomes), Outcomes: outcomes, Stages: stages}
	for _, s := range stages {
		g.Time = g.Time.Plus(s.Self)
	}
	return g
}

// reportOf returns a report of these groups, whose total has all stages,
// counters and outcomes of them.
func reportOf(groups ...Group) *Report {
	r := &Report{By: "path", Groups: GroupsOf(groups...), Width: int64(time.Minute), From: logread.NoTime, To: logread.NoTime, common: common{sample: &decisionSample{limit: hashLimit}}}
	stages, counters := map[string]*groupby.Stage{}, map[string]groupby.Sum{}
	for i := range groups {
		g := &groups[i]
		for o, n := range g.Outcomes {
			r.Total.Outcomes[o] += n
		}
		for _, c := range g.Counters {
			counters[c.Name] = counters[c.Name].Plus(c.Total)
		}
		for s := range g.Stages {
			add(stages, &g.Stages[s])
		}
		r.Total.Errors = append(r.Total.Errors, g.Errors...)
		r.Total.Decisions += g.Decisions
		r.Total.Time = r.Total.Time.Plus(g.Time)
	}
	for _, s := range stages {
		r.Total.Stages = append(r.Total.Stages, *s)
	}
	for name, total := range counters {
		r.Total.Counters = append(r.Total.Counters, groupby.Counter{Name: name, Total: total})
	}
	r.Inputs.Files, r.Inputs.Decisions = 1, int64(r.Total.Decisions)
	return r
}

func add(stages map[string]*groupby.Stage, s *groupby.Stage) {
	all := stages[s.Name]
	if all == nil {
		all = &groupby.Stage{Name: s.Name}
		stages[s.Name] = all
	}
	if err := all.Durations.Merge(&s.Durations); err != nil {
		panic(err)
	}
	all.Unfinished += s.Unfinished
	all.Self = all.Self.Plus(s.Self)
}

// started is when the samples begin.
var started = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC).UnixNano()

// hostile is a name that no form may hand on as it is, and hostileJSON is its
// JSON.
const (
	hostile     = "a/\x1b[31mred\x1b[0m\r\n| `x` | <b>@admin</b> \u202e\xff"
	hostileJSON = `a/\u001b[31mred\u001b[0m\r\n| ` + "`x`" + ` | <b>@admin</b> \u202e` + "\xff"
)

// sample returns the report of a log with findings, problems and strange names.
func sample(t testing.TB) *Report {
	t.Helper()
	var log strings.Builder
	log.WriteString(sampleText(t, samplelog.Options{Decisions: 4000, Seed: 3, Rate: 2, Paths: 5, Start: time.Unix(0, started)}))
	for i := range 20 {
		fmt.Fprintf(&log, "text\n"+`{"decision_id":"bad%d","path":"rbac/allow","timestamp":"yesterday","result":true,`+
			`"metrics":{"timer_server_handler_ns":-1,"timer_rego_query_eval_ns":0.5}}`+"\n"+`{"decision_id":"cut","pa`+"\n", i)
	}
	event := func(n int, path, metrics string) {
		for i := range n {
			fmt.Fprintf(&log, `{"decision_id":"%s","path":"%s","timestamp":"2026-03-01T14:%02d:00Z","metrics":{%s}}`+"\n", path, path, i%60, metrics)
		}
	}
	event(1, hostileJSON, `"timer_x\u001b[2J|_ns":6000000000,"counter_large":9223372036854775807,"counter_zero":0`)
	event(230, "gone/for/good", `"timer_server_handler_ns":50000,"timer_rego_query_eval_ns":20000`)
	event(9, "team-of-a-very-long-name/deployment/containers/resources/limits/requests/violation", `"timer_server_handler_ns":0,"timer_rego_query_eval_ns":1`)
	event(3, "数据/许可/é", `"timer_server_handler_ns":60000`)
	event(2, "=cmd|' /C calc'!A0", ``)
	x := readLog(t, log.String(), Options{Slowest: 3})
	x.options.Inputs = []string{"logs/opa-1.log"}
	r := x.Report()
	for i := range r.Slowest {
		r.Slowest[i].Place.File = "logs/opa-1.log"
	}
	r.Slowest[1].Outcome = outcome.Failed
	for i := range r.Inputs.Problems {
		for j := range r.Inputs.Problems[i].First {
			r.Inputs.Problems[i].First[j].File = "logs/\x1b]0;x\a.log"
		}
	}
	return r
}

func TestGolden(t *testing.T) {
	r := sample(t)
	golden(t, "table-80.golden", []byte(written(t, func(w io.Writer) error {
		return output.Write(w, r, output.Options{Top: 6})
	})))
	golden(t, "table-colors.golden", []byte(written(t, func(w io.Writer) error {
		return output.Write(w, r, output.Options{Top: 1, Colors: true})
	})))
	golden(t, "markdown.golden", []byte(written(t, func(w io.Writer) error {
		return output.Write(w, r, output.Options{Format: "markdown", Top: 6})
	})))
	golden(t, "json.golden", []byte(written(t, func(w io.Writer) error { return r.WriteJSON(w) })))
}
