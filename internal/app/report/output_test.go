// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares what was written with a file.
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
func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// forms are all forms of output.
var forms = map[string]func(io.Writer, *Report) error{
	"table":    func(w io.Writer, r *Report) error { return WriteTable(w, r, text.Options{}) },
	"json":     WriteJSON,
	"csv":      WriteCSV,
	"markdown": func(w io.Writer, r *Report) error { return WriteMarkdown(w, r, 0) },
}

var errFull = errors.New("disk is full")

// full is a writer that has room for so many bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	if len(p) > int(*f) {
		return 0, errFull
	}
	*f -= full(len(p))
	return len(p), nil
}

func TestErrorsOfWriter(t *testing.T) {
	r := sample()
	for form, write := range forms {
		all := len(written(t, func(w io.Writer) error { return write(w, r) }))
		for _, room := range []full{0, full(all / 2), full(all - 1)} {
			if err := write(&room, r); !errors.Is(err, errFull) {
				t.Errorf("%s: error %v of a writer that is full", form, err)
			}
		}
		room := full(all)
		if err := write(&room, r); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// stageOf returns a stage that took these times.
func stageOf(name string, times ...time.Duration) groupby.Stage {
	h := exphist.New(exphist.Nanosecond)
	s := groupby.Stage{Name: name}
	for _, d := range times {
		h.Record(int64(d))
		s.Self = s.Self.Plus(groupby.Sum{Lo: uint64(d)})
	}
	h.Snapshot(&s.Durations)
	return s
}

// times returns n times around a median, some of them far above it.
func times(random *rand.Rand, n int, median time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		f := 0.7 + 0.6*random.Float64()
		if random.IntN(50) == 0 {
			f *= 4
		}
		all[i] = time.Duration(f * float64(median))
	}
	return all
}

// same returns n times the same.
func same(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// groupOf returns a group of these outcomes and stages.
func groupOf(key string, outcomes [6]uint64, stages ...groupby.Stage) Group {
	g := Group{Group: groupby.Group{Key: key, Outcomes: outcomes, Stages: stages}}
	for _, n := range outcomes {
		g.Decisions += n
	}
	for _, s := range stages {
		g.Time = g.Time.Plus(s.Self)
	}
	return g
}

// reportOf returns a report of these groups, whose total has all stages,
// counters and outcomes of them.
func reportOf(groups ...Group) *Report {
	r := &Report{By: "path", Groups: GroupsOf(groups...), Width: int64(time.Minute), From: decisionlog.NoTime, To: decisionlog.NoTime}
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

// hostile is a name that no form may hand on as it is.
const hostile = "a/\x1b[31mred\x1b[0m\r\n| `x` | <b>@admin</b> \u202e\xff"

// sample returns a report as a bad afternoon would make it.
func sample() *Report {
	random := rand.New(rand.NewPCG(1, 2))
	counters := func(pairs ...any) (all []groupby.Counter) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, groupby.Counter{Name: pairs[i].(string), Total: groupby.Sum{Lo: uint64(pairs[i+1].(int))}})
		}
		return all
	}
	server := func(n int, handler, input, evaluation time.Duration) []groupby.Stage {
		return []groupby.Stage{
			stageOf("rego_input_parse", times(random, n, input)...),
			stageOf("rego_query_eval", times(random, n, evaluation)...),
			stageOf("server_handler", times(random, n, handler)...),
		}
	}

	http := groupOf("envoy/authz/allow", [6]uint64{1800, 150, 0, 0, 50, 0},
		append([]groupby.Stage{stageOf("rego_builtin_http_send", times(random, 1900, 12*time.Millisecond)...)},
			server(2000, 90*time.Microsecond, 31*time.Microsecond, 420*time.Microsecond)...)...)
	http.Errors = []rollup.ErrorTotal{{Code: "eval_builtin_error", Total: 41}, {Code: "internal_error", Total: 9}}
	http.Counters = counters(httpHits, 12, httpRequests, 1951, queryHits, 1990)

	rbac := groupOf("rbac/allow", [6]uint64{9000, 988, 0, 0, 0, 12},
		append(server(10000, 45*time.Microsecond, 12*time.Microsecond, 160*time.Microsecond),
			stageOf("rego_query_compile", times(random, 8, 700*time.Microsecond)...))...)
	rbac.Counters = counters(queryHits, 9992)

	long := groupOf("kubernetes/admission/team-of-a-very-long-name/deployment/containers/resources/limits/violation",
		[6]uint64{0, 0, 640, 0, 0, 0}, server(640, 80*time.Microsecond, 400*time.Microsecond, 900*time.Microsecond)...)
	long.Stages[2].Unfinished = 3

	adhoc := groupOf("(query)", [6]uint64{0, 0, 40, 2, 0, 0},
		stageOf("rego_query_compile", times(random, 42, 600*time.Microsecond)...),
		stageOf("rego_query_parse", times(random, 42, 90*time.Microsecond)...),
		stageOf("rego_query_eval", times(random, 42, 150*time.Microsecond)...),
		groupby.Stage{Name: "server_handler", Unfinished: 42})

	wide := groupOf("数据/许可/é", [6]uint64{5, 1, 0, 0, 0, 0}, server(6, 60*time.Microsecond, 10*time.Microsecond, 200*time.Microsecond)...)
	gone := groupOf("rbac/alow", [6]uint64{0, 0, 0, 230, 0, 0}, server(230, 30*time.Microsecond, 9*time.Microsecond, 20*time.Microsecond)...)
	bare := groupOf("=cmd|' /C calc'!A0", [6]uint64{0, 0, 90, 0, 0, 0})
	evil := groupOf(hostile, [6]uint64{0, 0, 0, 1, 0, 0}, stageOf("x\x1b[2J|", time.Hour/600))

	evil.Counters = []groupby.Counter{{Name: "large", Total: groupby.Sum{Hi: 1}}, {Name: "zero"}}

	r := reportOf(http, evil, rbac, long, adhoc, wide, gone, bare)
	r.From, r.To = started+int64(123*time.Millisecond), started+int64(time.Hour)
	r.Inputs = Inputs{
		Files: 3, Bytes: 12_345_678, Decisions: int64(r.Total.Decisions), OtherLines: 210,
		Problems: []Problem{
			{"invalid_json", 7, []Place{{"logs/opa-1.log", 12}, {"logs/opa-1.log", 5120}, {"logs/\x1b]0;x\a.log", 1}}},
			{"no_metrics", 180, []Place{{"logs/opa-2.log.gz", 3}}},
		},
		Sampled: 13000, Repeated: 64,
	}
	for minute := range int64(60) {
		failed := uint64(0)
		if minute >= 40 {
			failed = 20
		}
		r.Total.Slices = append(r.Total.Slices, groupby.Slice{
			Begin: started + minute*int64(time.Minute), Outcomes: [6]uint64{rollup.Allowed: 200 - failed, rollup.Error: failed},
		})
	}
	r.Slowest = []SlowDecision{
		{
			Key: "envoy/authz/allow", ID: "6b1f0d0e-7d8e-4f64-9a0c-52c0b2f8d7a1", Time: started + int64(95*time.Second), Outcome: rollup.Error,
			Took:   int64(5012 * time.Millisecond),
			Stages: []StageTime{{"rego_builtin_http_send", int64(5 * time.Second)}, {"rego_query_eval", int64(11 * time.Millisecond)}},
			Place:  Place{"logs/opa-1.log", 733},
		},
		{Key: hostile, ID: hostile, Time: decisionlog.NoTime, Outcome: rollup.Undefined, Took: 6e9, Place: Place{hostile, 1}},
	}
	r.Findings = find(r)
	return r
}

func TestGolden(t *testing.T) {
	r := sample()
	for _, columns := range []int{80, 120, 200} {
		golden(t, fmt.Sprintf("table-%d.golden", columns), []byte(written(t, func(w io.Writer) error {
			return WriteTable(w, r, text.Options{Width: columns, Top: 6})
		})))
	}
	golden(t, "table-colors.golden", []byte(written(t, func(w io.Writer) error {
		return WriteTable(w, r, text.Options{Top: 1, Colors: true})
	})))
	golden(t, "markdown.golden", []byte(written(t, func(w io.Writer) error {
		return WriteMarkdown(w, r, 6)
	})))
	golden(t, "json.golden", []byte(written(t, func(w io.Writer) error { return WriteJSON(w, r) })))
	golden(t, "csv.golden", []byte(written(t, func(w io.Writer) error { return WriteCSV(w, r) })))
}
