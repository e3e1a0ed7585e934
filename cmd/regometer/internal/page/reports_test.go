// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

// reports are the reports whose pages the tests look at, by name.
var reports = map[string]func(testing.TB) *report.Report{
	"example": example,
	"empty":   func(t testing.TB) *report.Report { return reportOf(t, "") },
	"one":     interrupted,
	"timeless": func(t testing.TB) *report.Report {
		return reportOf(t, event("rbac/allow", time.Time{}, `"timer_server_handler_ns":5000`))
	},
	"unfinished": func(t testing.TB) *report.Report {
		return reportOf(t, event("rbac/allow", start, `"timer_server_handler_ns":0`))
	},
	"hostile":  hostile,
	"many":     func(t testing.TB) *report.Report { return manyGroups(t, 1000) },
	"extremes": extremes,
}

var start = time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC)

// event returns a decision with these metrics. It has no time if that is zero.
func event(path string, at time.Time, metrics ...string) string {
	timestamp := ""
	if !at.IsZero() {
		timestamp = fmt.Sprintf(`"timestamp":%q,`, at.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf(`{"decision_id":"x","path":%q,%s"result":true,"metrics":{%s}}`+"\n", path, timestamp, strings.Join(metrics, ","))
}

// reportOf returns the report of a log.
func reportOf(t testing.TB, log string) *report.Report {
	t.Helper()
	x, err := report.Read(t.Context(), report.Options{Inputs: []string{"-"}, Stdin: strings.NewReader(log), Slowest: 5})
	if err != nil {
		t.Fatal(err)
	}
	return x.Report()
}

// example is the report in the documentation: a bundle changes after two of
// three hours, and a path becomes slower with it.
func example(t testing.TB) *report.Report {
	var log strings.Builder
	if err := samplelog.Write(&log, samplelog.Options{
		Decisions: 20_000, Seed: 1, Start: start, Rate: 20_000 / 10_800., Paths: 6,
		Revisions: [2]string{"2026-03-01.1", "2026-03-03.1"},
		Slower:    &samplelog.Slower{Stage: "rego_query_eval", Factor: 2.5, After: 2 * time.Hour},
	}); err != nil {
		t.Fatal(err)
	}
	log.WriteString("text\n" + `{"decision_id":"cut","pa`)
	return reportOf(t, log.String())
}

func interrupted(t testing.TB) *report.Report {
	r := reportOf(t, event("rbac/allow", start, `"timer_rego_query_eval_ns":123456`))
	r.Interrupted = true
	return r
}

// extremes has the least and the largest durations and times, with gaps.
func extremes(t testing.TB) *report.Report {
	var log strings.Builder
	for _, at := range []time.Time{{}, time.Unix(0, math.MinInt64+1), time.Unix(-1e9, 0), time.Unix(0, 0), time.Unix(60, 0), time.Unix(0, math.MaxInt64)} {
		log.WriteString(event("a", at.UTC(), `"timer_server_handler_ns":1`))
		log.WriteString(event("a", at.UTC(), `"timer_server_handler_ns":9223372036854775807`, `"timer_rego_query_eval_ns":9223372036854775807`))
	}
	return reportOf(t, log.String())
}

// hostileTexts are texts that a client or a broken file might put into a log.
var hostileTexts = []string{
	`<script>document.title="owned"</script>`,
	`"></text></svg><img src=x onerror=alert(1)>`,
	`'--><style>*{display:none}</style><a href="https://example.com/">x</a>`,
	`</title></style></details></table>{{.}}]]>&lt;&#60;`,
	"\u202egnp.exe \u2066isolated \u200e\u061c",
	"nul\x00 bell\a escape\x1b[31m c1\u0085 tab\tline\nreturn\r",
	"invalid \xff\xfe\xc3 UTF-8, \ufffe and \ufeff",
	strings.Repeat("long/", 2_000),
	strings.Repeat("<&\"'>", 2_000),
	"\u0301\u0301É" + strings.Repeat("\u0301", 300) + " 日本語 \U0001f600 עברית",
	"",
	"javascript:alert(1)",
}

// hostile has these texts wherever a text can be.
func hostile(t testing.TB) *report.Report {
	var log strings.Builder
	for i := range hostileTexts {
		for minute := range 3 {
			log.WriteString(event(fmt.Sprint(i), start.Add(time.Duration(minute)*time.Minute), fmt.Sprintf(`"timer_%d_ns":%d`, i, 1000000+i)))
		}
	}
	r := reportOf(t, log.String())
	index := func(name string) (i int) {
		if _, err := fmt.Sscan(name, &i); err != nil {
			t.Fatal(err)
		}
		return i
	}
	rename := func(stages []groupby.Stage) {
		for i := range stages {
			stages[i].Name = hostileTexts[index(stages[i].Name)]
		}
	}
	rename(r.Total.Stages)
	var groups []report.Group
	for i := range r.Groups.Len() {
		g := *r.Groups.At(i)
		text := hostileTexts[index(g.Key)]
		g.Key, g.Errors = text, []stages.ErrorTotal{{Code: text, Total: 1}}
		g.Counters = []groupby.Counter{{Name: text, Total: groupby.Sum{Hi: 1, Lo: 1}}}
		rename(g.Stages)
		for _, s := range g.Slices {
			rename(s.Stages)
		}
		groups = append(groups, g)
	}
	r.Groups = report.GroupsOf(groups...)
	r.By, r.Slowest = "label:"+hostileTexts[0], nil
	for i, text := range hostileTexts {
		r.Findings = append(r.Findings, report.Finding{Rule: text, Text: text, Command: text})
		place := report.Place{File: text, Line: 1}
		r.Inputs.Problems = append(r.Inputs.Problems, report.Problem{Kind: logread.Problem(text), Count: 1, First: []report.Place{place}})
		r.Revisions = append(r.Revisions, report.Revision{Name: text, First: r.From, Last: r.To, Evaluation: groups[i].Stages[0]})
		r.Slowest = append(r.Slowest, report.SlowDecision{Key: text, ID: text, Time: r.From, Outcome: 77, Took: 1, Place: place})
	}
	r.Inputs.Repeats.LeftOut = 3
	r.Overflow = 1
	return r
}

// manyGroups has n groups with long names, and some stages.
func manyGroups(t testing.TB, n int) *report.Report {
	var log strings.Builder
	for i := range n {
		long := strings.Repeat("x", 1000)
		log.WriteString(event(fmt.Sprint(i, "/", long), start, `"timer_a`+long+`_ns":1000`, `"timer_b`+long+`_ns":2000`))
	}
	return reportOf(t, log.String())
}
