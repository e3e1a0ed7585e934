// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// ruleTest has a report that makes a rule speak, and what its text has to have;
// and reports that are just not enough.
type ruleTest struct {
	speaks *Report
	text   []string
	silent map[string]*Report
}

const us, ms = time.Microsecond, time.Millisecond

// serverReport returns a report of one path and n decisions of a server, with
// stages of these self times each.
func serverReport(n int, self map[string]time.Duration) *Report {
	var stages []groupby.Stage
	for name, d := range self {
		stages = append(stages, stageOf(name, same(n, d)...))
	}
	return reportOf(groupOf("rbac/allow", [6]uint64{uint64(n)}, stages...))
}

// with returns a report with something in it changed.
func with(r *Report, change func(*Report)) *Report {
	change(r)
	return r
}

var ruleTests = map[string]ruleTest{
	"interrupted": {
		with(healthy(), func(r *Report) { r.Interrupted = true }), []string{"interrupted"},
		map[string]*Report{"read to the end": healthy()},
	},
	"errors_rose": {
		errorReport(40, 20, 1000, 1, 20),
		[]string{"From 2026-03-01 14:40:00 to 2026-03-01 15:00:00 UTC, 400 of 20,000 decisions failed (2.0 %); " +
			"before that, 40 of 40,000 had (0.1 %).", "`internal_error` (440)"},
		map[string]*Report{
			"less than twice":               errorReport(40, 20, 1000, 20, 39),
			"less than a point more":        errorReport(40, 20, 1000, 0, 9),
			"too few decisions":             errorReport(5, 1, 199, 0, 60),
			"too few before":                errorReport(3, 20, 66, 0, 20),
			"too few errors":                errorReport(40, 1, 200, 0, 19),
			"too few slices before":         errorReport(2, 20, 1000, 0, 100),
			"fell":                          errorReport(40, 20, 1000, 100, 1),
			"slices differ as much anyway":  burstReport(),
			"no times":                      with(errorReport(0, 1, 10_000, 0, 5000), func(r *Report) { r.Total.Slices[0].Begin = decisionlog.NoTime }),
			"all fail, from the beginning":  errorReport(40, 20, 1000, 1000, 1000),
			"no slices":                     healthy(),
			"within chance: fewer than 5 σ": errorReport(4, 1, 500, 10, 23),
		},
	},
	"revision_slower": {
		revisionReport(10, 10, 100*us, 125*us),
		[]string{"revision `v2`, at 2026-03-01 14:10:00 UTC", "from 100 µs to 125 µs", "(600 and 600 evaluations)", "bring back revision `v1`"},
		map[string]*Report{
			"less than 1.2 times":    revisionReport(10, 10, 100*us, 118*us),
			"less than 20 µs":        revisionReport(10, 10, 50*us, 68*us),
			"faster":                 revisionReport(10, 10, 125*us, 100*us),
			"too few slices before":  revisionReport(4, 10, 100*us, 150*us),
			"too few slices after":   revisionReport(10, 4, 100*us, 150*us),
			"too few evaluations":    with(revisionReport(10, 10, 100*us, 150*us), func(r *Report) { r.Revisions[1].Evaluation = stageOf(evaluationStage, same(499, 150*us)...) }),
			"too few in each slice":  with(revisionReport(10, 10, 100*us, 150*us), func(r *Report) { evaluations(r, 19) }),
			"slices vary as much":    with(revisionReport(10, 10, 100*us, 150*us), vary),
			"one revision":           with(revisionReport(10, 10, 100*us, 150*us), func(r *Report) { r.Revisions = r.Revisions[1:] }),
			"the first without time": with(revisionReport(10, 10, 100*us, 150*us), func(r *Report) { r.Revisions[0].First = decisionlog.NoTime }),
		},
	},
	"http_send_uncached": {
		httpReport(100, 25*us, 49, 51),
		[]string{"takes 20.0 % of the time", "in 100 decisions", "49.0 % of its answers", "`force_cache: true`"},
		map[string]*Report{
			"too few decisions":      httpReport(99, 25*us, 0, 99),
			"little time":            httpReport(100, 24*us, 0, 100),
			"cached":                 httpReport(100, 25*us, 50, 50),
			"cached, by an old OPA":  httpReport(100, 25*us, 50, 0),
			"cached, several a time": httpReport(100, 25*us, 5000, 0),
			"no http.send":           healthy(),
		},
	},
	"queries_recompiled": {
		compileReport("rbac/allow", 1000, 100),
		[]string{"100 of 1,000 decisions (10.0 %) compiled their query, with a median of 300 µs", "Of the 2 paths, `rbac/allow` has most of them, 100.", "OPA keeps 100"},
		map[string]*Report{
			"too few":          compileReport("rbac/allow", 500, 99),
			"a small part":     compileReport("rbac/allow", 1001, 100),
			"nothing compiled": healthy(),
		},
	},
	"handler_outside_rego": {
		serverReport(100, map[string]time.Duration{handlerStage: 400 * us, inputStage: 101 * us, evaluationStage: 500 * us}),
		[]string{"50.0 % of the time", "501 µs a decision", "20.2 % of that is for receiving", "CPU limit"},
		map[string]*Report{
			"too few":         serverReport(99, map[string]time.Duration{handlerStage: 400 * us, inputStage: 101 * us, evaluationStage: 500 * us}),
			"less than half":  serverReport(100, map[string]time.Duration{handlerStage: 400 * us, inputStage: 101 * us, evaluationStage: 502 * us}),
			"a short time":    serverReport(100, map[string]time.Duration{handlerStage: 400 * us, inputStage: 99 * us, evaluationStage: 400 * us}),
			"all in the rest": serverReport(100, map[string]time.Duration{evaluationStage: 5 * ms}),
		},
	},
	"stage_dominates": {
		serverReport(100, map[string]time.Duration{evaluationStage: ms, handlerStage: 900 * us}),
		[]string{"Stage `rego_query_eval` takes 52.6 % of the time: 1.00 ms a decision", "`opa eval --profile`"},
		map[string]*Report{
			"too few":             serverReport(99, map[string]time.Duration{evaluationStage: ms, handlerStage: 900 * us}),
			"less than half":      serverReport(100, map[string]time.Duration{evaluationStage: ms, handlerStage: 501 * us, "rego_query_parse": 500 * us}),
			"a short time":        serverReport(100, map[string]time.Duration{evaluationStage: ms - us, handlerStage: 100 * us}),
			"told of: http":       httpReport(100, 10*ms, 0, 100),
			"told of: handler":    serverReport(100, map[string]time.Duration{evaluationStage: ms, handlerStage: 9 * ms}),
			"told of: compiling":  serverReport(100, map[string]time.Duration{compileStage: 9 * ms}),
			"no time at all":      with(healthy(), func(r *Report) { r.Total.Stages, r.Total.Time = nil, groupby.Sum{} }),
			"no decision, no sum": reportOf(),
		},
	},
	"path_long_tail": {
		tailReport(1000, ms/2, 11*ms),
		[]string{"in 1 path: `rbac/allow` (median 50", " ms, 1,000 decisions)"},
		map[string]*Report{
			"too few":             tailReport(999, ms/2, 11*ms),
			"less than 20 times":  tailReport(1000, ms, 19*ms),
			"less than 10 ms":     tailReport(1000, ms/4, 9900*us),
			"the group of others": with(tailReport(1000, ms/2, 11*ms), func(r *Report) { r.Groups.At(0).Key = rollup.Other }),
			"no stages":           with(tailReport(1000, ms/2, 11*ms), func(r *Report) { r.Groups.At(0).Stages = nil }),
			"not by path":         with(tailReport(1000, ms/2, 11*ms), func(r *Report) { r.By = "hour" }),
		},
	},
	"path_undefined": {
		undefinedReport(40, 60),
		[]string{"2 paths never had a result, in 100 decisions (9.1 % of all): `gone/1` (60), `gone/0` (40). "},
		map[string]*Report{
			"too few":             undefinedReport(40, 59),
			"sometimes defined":   with(undefinedReport(100), func(r *Report) { r.Groups.At(0).Outcomes = [6]uint64{rollup.Undefined: 99, rollup.Allowed: 1} }),
			"the group of others": with(undefinedReport(100), func(r *Report) { r.Groups.At(0).Key = rollup.Other }),
			"not by path":         with(undefinedReport(100), func(r *Report) { r.By = "label:team" }),
		},
	},
	"metrics_missing": {
		metricsReport(1000, 10), []string{"10 of 1,000 decisions (1.0 %) have no metrics"},
		map[string]*Report{
			"too few":         metricsReport(900, 9),
			"a small part":    metricsReport(1001, 10),
			"another problem": with(metricsReport(1000, 10), func(r *Report) { r.Inputs.Problems[0].Kind = "truncated" }),
		},
	},
	"keys_beyond_limit": {
		with(healthy(), func(r *Report) { r.Overflow = groupby.Overflow{Decisions: 1, Stages: 2, Counters: 3} }),
		[]string{"1 decision (0.1 %) in group `other`, 2 timers in", "raised by 3"},
		map[string]*Report{"none": healthy()},
	},
	"ids_repeated": {
		with(healthy(), func(r *Report) { r.Inputs.Repeated, r.Inputs.Sampled = 5, 5000 }),
		[]string{"Of a sample of 5,000 decision ids, 5 (0.1 %)"},
		map[string]*Report{
			"too few":      with(healthy(), func(r *Report) { r.Inputs.Repeated, r.Inputs.Sampled = 4, 8 }),
			"a small part": with(healthy(), func(r *Report) { r.Inputs.Repeated, r.Inputs.Sampled = 5, 5001 }),
			"no sample":    healthy(),
		},
	},
}

// healthy returns a report of which there is nothing to say.
func healthy() *Report {
	r := serverReport(1000, map[string]time.Duration{evaluationStage: 150 * us, handlerStage: 60 * us, inputStage: 20 * us})
	r.Groups.At(0).Counters = []groupby.Counter{{Name: queryHits, Total: groupby.Sum{Lo: 1000}}}
	return r
}

// errorReport has slices of a minute with n decisions, of which some fail:
// first so many of one rate, then so many of another.
func errorReport(before, after, n, failedBefore, failedAfter int) *Report {
	r := healthy()
	for i := range before + after {
		failed := failedBefore
		if i >= before {
			failed = failedAfter
		}
		appendSlice(r, n, failed)
	}
	return r
}

// burstReport has as many errors in some slices from the beginning on as in the
// last ones.
func burstReport() *Report {
	r := healthy()
	for i := range 60 {
		failed := 0
		if i%15 == 7 || i >= 58 {
			failed = 60
		}
		appendSlice(r, 1000, failed)
	}
	return r
}

func appendSlice(r *Report, n, failed int) {
	begin := started + int64(len(r.Total.Slices))*r.Width
	outcomes := [6]uint64{rollup.Allowed: uint64(n - failed), rollup.Error: uint64(failed)}
	r.Total.Slices = append(r.Total.Slices, groupby.Slice{Begin: begin, Outcomes: outcomes})
	if len(r.Total.Errors) == 0 {
		r.Total.Errors = []rollup.ErrorTotal{{Code: "a", Total: 1}, {Code: "internal_error"}}
	}
	r.Total.Errors[1].Total += uint64(failed)
}

// revisionReport has slices of a minute, first of revision v1, then of v2.
func revisionReport(before, after int, was, is time.Duration) *Report {
	r := healthy()
	change := started + int64(before)*r.Width
	end := change + int64(after)*r.Width
	for begin := started; begin < end; begin += r.Width {
		r.Total.Slices = append(r.Total.Slices, groupby.Slice{Begin: begin})
	}
	r.Revisions = []Revision{
		{"v1", started, change - 1, stageOf(evaluationStage, same(600, was)...)},
		{"v2", change, end - 1, stageOf(evaluationStage, same(600, is)...)},
	}
	evaluations(r, partCount)
	return r
}

// evaluations gives each slice n evaluations of the revision at its time.
func evaluations(r *Report, n int) {
	for i := range r.Total.Slices {
		s := &r.Total.Slices[i]
		d := r.Revisions[1].Evaluation.Durations.Max()
		if s.Begin < r.Revisions[1].First {
			d = r.Revisions[0].Evaluation.Durations.Max()
		}
		s.Stages = []groupby.Stage{stageOf(evaluationStage, same(n, time.Duration(d))...)}
	}
}

// vary makes every third slice slow.
func vary(r *Report) {
	for i := 0; i < len(r.Total.Slices); i += 3 {
		r.Total.Slices[i].Stages = []groupby.Stage{stageOf(evaluationStage, same(partCount, 155*us)...)}
	}
}

func httpReport(n int, each time.Duration, hits, requests uint64) *Report {
	r := serverReport(n, map[string]time.Duration{httpStage: each, evaluationStage: 100 * us})
	r.Total.Counters = []groupby.Counter{
		{Name: httpHits, Total: groupby.Sum{Lo: hits}}, {Name: httpRequests, Total: groupby.Sum{Lo: requests}},
	}
	return r
}

func compileReport(path string, n, compiled int) *Report {
	return reportOf(
		groupOf("x", [6]uint64{uint64(n - compiled)}, stageOf(evaluationStage, 100*us)),
		groupOf(path, [6]uint64{uint64(compiled)}, stageOf(compileStage, same(compiled, 300*us)...)))
}

func tailReport(n int, usual, slow time.Duration) *Report {
	tail := (n + 99) / 100
	return reportOf(groupOf("rbac/allow", [6]uint64{uint64(n)},
		stageOf(evaluationStage, same(n, usual)...),
		stageOf(handlerStage, append(same(n-tail-1, usual), same(tail+1, slow)...)...)))
}

func undefinedReport(decisions ...uint64) *Report {
	groups := []Group{}
	for i, n := range decisions {
		groups = append(groups, groupOf(fmt.Sprintf("gone/%d", i), [6]uint64{rollup.Undefined: n}))
	}
	return reportOf(append(groups, groupOf("rbac/allow", [6]uint64{1000}))...)
}

func metricsReport(decisions, without int64) *Report {
	r := healthy()
	r.Inputs.Decisions = decisions
	r.Inputs.Problems = []Problem{{Kind: "no_metrics", Count: without}}
	return r
}

func textOf(r *Report, rule string) string {
	for _, f := range find(r) {
		if f.Rule == rule {
			return f.Text
		}
	}
	return ""
}

func TestRulesSpeak(t *testing.T) {
	for _, rule := range Rules() {
		test, ok := ruleTests[rule.Name]
		if !ok {
			t.Errorf("no test of %s", rule.Name)
			continue
		}
		text := textOf(test.speaks, rule.Name)
		for _, part := range test.text {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q\nlacks %q", rule.Name, text, part)
			}
		}
		if strings.Contains(text, "%!") || strings.Contains(text, "NaN") {
			t.Errorf("%s: %q", rule.Name, text)
		}
		for name, r := range test.silent {
			if text := textOf(r, rule.Name); text != "" {
				t.Errorf("%s: %s: %s", rule.Name, name, text)
			}
		}
	}
	if len(ruleTests) != len(Rules()) {
		t.Errorf("%d tests of %d rules", len(ruleTests), len(Rules()))
	}
}

// TestThresholds: what is just enough is enough.
func TestThresholds(t *testing.T) {
	for _, test := range []struct {
		rule string
		r    *Report
	}{
		{"errors_rose", errorReport(40, 4, 50, 0, 5)},      // decisions and errors
		{"errors_rose", errorReport(4, 20, 50, 0, 10)},     // decisions before
		{"errors_rose", errorReport(3, 20, 1000, 0, 100)},  // slices before
		{"errors_rose", errorReport(40, 20, 1000, 0, 10)},  // a point more
		{"errors_rose", errorReport(40, 20, 1000, 20, 40)}, // twice
		{"revision_slower", revisionReport(5, 5, 100*us, 150*us)},
		{"revision_slower", with(revisionReport(5, 5, 100*us, 150*us), func(r *Report) {
			r.Revisions[1].Evaluation = stageOf(evaluationStage, same(revisionCount, 150*us)...)
		})},
		{"handler_outside_rego", serverReport(100, map[string]time.Duration{handlerStage: 500 * us, evaluationStage: 500 * us})},
		{"stage_dominates", serverReport(100, map[string]time.Duration{evaluationStage: ms, handlerStage: 500 * us, "rego_query_parse": 500 * us})},
	} {
		if textOf(test.r, test.rule) == "" {
			t.Errorf("%s is silent: %v", test.rule, test.r.Total.Outcomes)
		}
	}
}

// TestRevisionEndsWithNext: slices of later revisions say nothing of one.
func TestRevisionEndsWithNext(t *testing.T) {
	r := revisionReport(10, 10, 100*us, 160*us)
	v3 := r.Revisions[1]
	v3.Name, v3.First = "v3", v3.First+3*r.Width
	r.Revisions = append(r.Revisions, v3)
	if text := textOf(r, "revision_slower"); text != "" {
		t.Error(text)
	}
	if text := textOf(revisionReport(10, 10, 100*us, 160*us), "revision_slower"); strings.Contains(text, "more.") {
		t.Error(text)
	}
}

func TestPathsListed(t *testing.T) {
	var groups []Group
	for i, stage := range []string{handlerStage, decisionStage, evaluationStage, "regovm_eval"} {
		g := groupOf(fmt.Sprint("p", i), [6]uint64{1000}, stageOf(stage, append(same(900, us), same(100, 50*ms)...)...))
		groups = append(groups, g)
	}
	text := textOf(reportOf(groups...), "path_long_tail")
	if !strings.Contains(text, "in 4 paths: `p0` ") || !strings.Contains(text, "`p2` (median 1") || !strings.Contains(text, ") and 1 more.") {
		t.Error(text)
	}
}

func TestHealthyLogHasNoFindings(t *testing.T) {
	for _, r := range []*Report{healthy(), reportOf(), {}, errorReport(60, 60, 1000, 5, 5)} {
		if found := find(r); len(found) != 0 {
			t.Error(found)
		}
	}
}

// TestAdvice: what to do depends on what it is.
func TestAdvice(t *testing.T) {
	for _, test := range []struct {
		rule string
		r    *Report
		want string
	}{
		{"queries_recompiled", compileReport(rollup.Query, 1000, 100), "100 % of them are ad-hoc queries"},
		{"queries_recompiled", with(compileReport("p", 1000, 100), func(r *Report) { r.By = "hour" }), "took 99.7 % of the time. OPA keeps"},
		{"handler_outside_rego", serverReport(100, map[string]time.Duration{handlerStage: us, inputStage: ms}), "Send only those parts"},
		{"stage_dominates", httpReport(100, 10*ms, 90, 10), "`force_cache_duration_seconds`"},
		{"stage_dominates", serverReport(100, map[string]time.Duration{"my`stage": 2 * ms}), "Stage `my'stage`"},
		{"http_send_uncached", httpReport(100, 10*ms, 30, 0), "30.0 % of its answers"},
		{"revision_slower", thrice(), "from 100 µs to 160 µs"},
		{"revision_slower", thrice(), "It also did with 1 more."},
	} {
		if text := textOf(test.r, test.rule); !strings.Contains(text, test.want) {
			t.Errorf("%s: %q lacks %q", test.rule, text, test.want)
		}
	}
}

// thrice has three revisions, each slower than the one before.
func thrice() *Report {
	r := revisionReport(10, 10, 100*us, 160*us)
	last := revisionReport(20, 10, 160*us, 200*us)
	r.Total.Slices = append(r.Total.Slices, last.Total.Slices[20:]...)
	v3 := last.Revisions[1]
	v3.Name = "v3"
	r.Revisions = append(r.Revisions, v3)
	return r
}

// TestNoFalseAlarms: where nothing changes, nothing is said.
func TestNoFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		r := revisionReport(20, 40, 100*us, 100*us)
		mean := 50 + 100*random.Float64()
		for i := range r.Total.Slices {
			s := &r.Total.Slices[i]
			n := 20 + random.IntN(200)
			times := make([]time.Duration, n)
			for k := range times {
				times[k] = time.Duration(1000 * mean * math.Exp(random.NormFloat64()))
				if random.IntN(30) == 0 {
					s.Outcomes[rollup.Error]++
				} else {
					s.Outcomes[rollup.Allowed]++
				}
			}
			s.Stages = []groupby.Stage{stageOf(evaluationStage, times...)}
			v := &r.Revisions[min(i/20, 1)]
			if i == 0 || i == 20 {
				v.Evaluation = groupby.Stage{Name: evaluationStage}
			}
			if err := v.Evaluation.Durations.Merge(&s.Stages[0].Durations); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range find(r) {
			t.Error(f)
		}
	}
}

func TestErrorsRoseForAWhile(t *testing.T) {
	r := errorReport(30, 10, 1000, 1, 50)
	for range 20 {
		appendSlice(r, 1000, 1)
	}
	if text := textOf(r, "errors_rose"); !strings.HasPrefix(text, "From 2026-03-01 14:30:00 to 2026-03-01 14:40:00 UTC, 500 of 10,000") {
		t.Error(text)
	}
}

func TestName(t *testing.T) {
	for s, want := range map[string]string{
		"": "(empty)", "a`b": "`a'b`", "\xff": "`\uFFFD`",
		strings.Repeat("é", 80):                           "`" + strings.Repeat("é", 80) + "`",
		strings.Repeat("a", 50) + strings.Repeat("b", 50): "`" + strings.Repeat("a", 39) + "…" + strings.Repeat("b", 40) + "`",
	} {
		if got := name(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
