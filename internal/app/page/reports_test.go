// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// reports are those that the tests write, by name.
var reports = map[string]func() *report.Report{
	"example":    example,
	"empty":      func() *report.Report { return finish(&report.Report{}) },
	"one":        oneDecision,
	"timeless":   timeless,
	"unfinished": unfinished,
	"hostile":    hostile,
	"many":       func() *report.Report { return manyGroups(1000, 2) },
	"extremes":   extremes,
}

// timings returns the histogram of some durations.
func timings(ns ...int64) exphist.Snapshot {
	h := exphist.New(exphist.Nanosecond)
	for _, v := range ns {
		h.Record(v)
	}
	var s exphist.Snapshot
	h.Snapshot(&s)
	return s
}

// stage returns a stage all of whose time is its own.
func stage(name string, ns ...int64) groupby.Stage {
	s := groupby.Stage{Name: name, Durations: timings(ns...)}
	s.Self.Hi, s.Self.Lo = s.Durations.Sum()
	return s
}

// merge adds the stages of one to those of another.
func merge(to *[]groupby.Stage, from []groupby.Stage) {
	for i := range from {
		s := &from[i]
		at := slices.IndexFunc(*to, func(have groupby.Stage) bool { return have.Name == s.Name })
		if at < 0 {
			*to = append(*to, groupby.Stage{Name: s.Name})
			at = len(*to) - 1
		}
		have := &(*to)[at]
		if err := have.Durations.Merge(&s.Durations); err != nil {
			panic(err)
		}
		have.Unfinished += s.Unfinished
		have.Self = have.Self.Plus(s.Self)
	}
}

// group makes a group of its slices of time.
func group(key string, slices ...groupby.Slice) report.Group {
	g := report.Group{}
	g.Key, g.Slices = key, slices
	for i := range slices {
		for o, n := range slices[i].Outcomes {
			g.Outcomes[o] += n
			g.Decisions += n
		}
		merge(&g.Stages, slices[i].Stages)
	}
	for i := range g.Stages {
		g.Time = g.Time.Plus(g.Stages[i].Self)
	}
	return g
}

// finish fills in what follows from the groups.
func finish(r *report.Report, groups ...report.Group) *report.Report {
	byBegin := map[int64]*groupby.Slice{}
	var order []int64
	for _, g := range groups {
		for i := range g.Slices {
			s := &g.Slices[i]
			all, ok := byBegin[s.Begin]
			if !ok {
				all = &groupby.Slice{Begin: s.Begin}
				byBegin[s.Begin], order = all, append(order, s.Begin)
			}
			for o, n := range s.Outcomes {
				all.Outcomes[o] += n
			}
			merge(&all.Stages, s.Stages)
		}
	}
	slices.Sort(order)
	all := make([]groupby.Slice, len(order))
	for i, begin := range order {
		all[i] = *byBegin[begin]
	}
	r.Groups, r.Total = report.GroupsOf(groups...), group("", all...)
	r.Inputs.Decisions = int64(r.Total.Decisions)
	if r.By == "" {
		r.By = "path"
	}
	if r.Width == 0 {
		r.Width = int64(time.Minute)
	}
	r.From, r.To = decisionlog.NoTime, decisionlog.NoTime
	for _, begin := range order {
		if begin == decisionlog.NoTime {
			continue
		}
		if r.From == decisionlog.NoTime {
			r.From = begin
		}
		r.To = begin + r.Width - 1
	}
	return r
}

var start = time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC).UnixNano()

// example is what a real log might come to: three hours, of which one path
// calls http.send, and became slower at midnight.
func example() *report.Report {
	const minutes = 180
	random := rand.New(rand.NewPCG(1, 2))
	var groups []report.Group
	for _, path := range []struct {
		key              string
		median           float64 // of the evaluation, ns
		decisions        int     // a minute
		denied, failures float64
		sends            bool
	}{
		{"billing/invoices/allow", 400e3, 15, 0.1, 0.01, true},
		{"rbac/allow", 90e3, 40, 0.25, 0, false},
		{"envoy/authz/response", 160e3, 25, 0.05, 0, false},
		{"kubernetes/admission/main", 900e3, 6, 0.3, 0.002, false},
		{"feature/flags", 30e3, 20, 0, 0, false},
	} {
		var all []groupby.Slice
		for minute := range minutes {
			s := groupby.Slice{Begin: start + int64(minute)*int64(time.Minute)}
			var handler, parse, eval, send, handlerSelf, evalSelf []int64
			slower := 1.0
			if path.sends && minute >= 120 {
				slower = 2.5
			}
			for range path.decisions + random.IntN(path.decisions/2+1) {
				draw := func(median, spread float64) int64 { return int64(median * math.Exp(spread*random.NormFloat64())) }
				own := draw(path.median*slower, 0.5)
				if random.IntN(100) == 0 {
					own *= 8
				}
				whole := own
				if path.sends && random.IntN(3) > 0 {
					send = append(send, draw(9e6*slower, 0.7))
					whole += send[len(send)-1]
				}
				in, around := draw(25e3, 0.4), draw(60e3, 0.6)
				parse, eval, handler = append(parse, in), append(eval, whole), append(handler, whole+in+around)
				evalSelf, handlerSelf = append(evalSelf, own), append(handlerSelf, around)
				switch p := random.Float64(); {
				case p < path.failures*slower*slower:
					s.Outcomes[rollup.Error]++
				case p < path.failures+path.denied:
					s.Outcomes[rollup.Denied]++
				case path.key == "feature/flags":
					s.Outcomes[rollup.OtherResult]++
				default:
					s.Outcomes[rollup.Allowed]++
				}
			}
			own := func(s groupby.Stage, self []int64) groupby.Stage {
				s.Self = groupby.Sum{}
				for _, v := range self {
					s.Self.Lo += uint64(v)
				}
				return s
			}
			s.Stages = append(s.Stages, stage("rego_input_parse", parse...), own(stage("rego_query_eval", eval...), evalSelf),
				own(stage("server_handler", handler...), handlerSelf))
			if len(send) > 0 {
				s.Stages = append(s.Stages, stage("rego_builtin_http_send", send...))
			}
			all = append(all, s)
		}
		g := group(path.key, all...)
		g.Counters = []groupby.Counter{{Name: "server_query_cache_hit", Total: groupby.Sum{Lo: g.Decisions - 3}}}
		if n := g.Outcomes[rollup.Error]; n > 0 {
			g.Errors = []rollup.ErrorTotal{{Code: "eval_builtin_error", Total: n}}
		}
		groups = append(groups, g)
	}
	r := finish(&report.Report{}, groups...)
	r.Inputs.Files, r.Inputs.Bytes, r.Inputs.OtherLines = 3, 14_812_345, 212
	r.Inputs.Problems = []report.Problem{{Kind: "truncated", Count: 1, First: []report.Place{{File: "logs/opa-2.log.gz", Line: 8_112}}}}
	midnight := start + 2*int64(time.Hour)
	r.Revisions = []report.Revision{
		{Name: "2026-03-01.1", First: r.From, Last: midnight, Evaluation: groups[0].Slices[10].Stages[1]},
		{Name: "2026-03-03.1", First: midnight, Last: r.To, Evaluation: groups[0].Slices[150].Stages[1]},
	}
	for i := range 5 {
		took := int64(180e6 - 9e6*float64(i))
		r.Slowest = append(r.Slowest, report.SlowDecision{
			Key: "billing/invoices/allow", ID: fmt.Sprintf("4b2c9a1e-0f6d-4c35-9d8a-00000000%04x", 77*i), Time: midnight + int64(i)*7e9 + 123e6,
			Outcome: rollup.Allowed, Took: took, Place: report.Place{File: "logs/opa-1.log", Line: int64(40_000 + 13*i)},
			Stages: []report.StageTime{{Stage: "server_handler", Took: took}, {Stage: "rego_query_eval", Took: took - 90e3},
				{Stage: "rego_builtin_http_send", Took: took - 900e3}},
		})
	}
	r.Findings = []report.Finding{
		{Rule: "stage_dominates", Text: "`rego_builtin_http_send` takes most of the time: see its share below. Only `billing/invoices/allow` calls it. Let http.send cache its answers (force_cache), or put the data into a bundle."},
		{Rule: "revision_slower", Text: "Since bundle revision 2026-03-03.1, evaluation takes longer than with 2026-03-01.1 before it. Look at what that revision changed."},
		{Rule: "path_long_tail", Text: "The p99 of kubernetes/admission/main is far above its median: a few of its inputs are much more work than the others."},
	}
	return r
}

func oneDecision() *report.Report {
	s := groupby.Slice{Begin: start, Stages: []groupby.Stage{stage("rego_query_eval", 123_456)}}
	s.Outcomes[rollup.Allowed] = 1
	r := finish(&report.Report{Interrupted: true}, group("rbac/allow", s))
	r.From = start + 5e9
	r.To = r.From
	return r
}

func timeless() *report.Report {
	s := groupby.Slice{Begin: decisionlog.NoTime, Stages: []groupby.Stage{stage("server_handler", 1e6, 2e6, 3e6)}}
	s.Outcomes[rollup.Denied] = 3
	return finish(&report.Report{}, group("rbac/allow", s))
}

func unfinished() *report.Report {
	s := groupby.Slice{Begin: start, Stages: []groupby.Stage{{Name: "server_handler", Unfinished: 7}}}
	s.Outcomes[rollup.Undefined] = 7
	return finish(&report.Report{}, group("(query)", s))
}

// extremes has the least and the largest durations and times, with gaps.
func extremes() *report.Report {
	var all []groupby.Slice
	for i, begin := range []int64{decisionlog.NoTime, math.MinInt64 + 1, -1e18, 0, 60e9, math.MaxInt64 - 1} {
		s := groupby.Slice{Begin: begin, Stages: []groupby.Stage{
			stage("server_handler", 0, 0, 0, 1, math.MaxInt64), stage("rego_query_eval", math.MaxInt64, math.MaxInt64), stage("zeros", 0, 0), stage("mostly zeros", 0, 0, 0, 5)}}
		s.Outcomes[i] = math.MaxUint32
		all = append(all, s)
	}
	return finish(&report.Report{Width: 60e9}, group("a", all...))
}

// hostileTexts are what a client or a broken file might put into a log.
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
	strings.Repeat("\u0301", 300) + " 日本語 \U0001f600 עברית",
	"",
	"javascript:alert(1)",
}

// hostile has such texts wherever a text can be.
func hostile() *report.Report {
	var groups []report.Group
	for i, text := range hostileTexts {
		var all []groupby.Slice
		for minute := range int64(3) {
			s := groupby.Slice{Begin: start + minute*60e9, Stages: []groupby.Stage{stage(text, 1e6+int64(i)), stage("rego_query_eval", 1e3)}}
			s.Outcomes[i%len(s.Outcomes)] = 40
			all = append(all, s)
		}
		g := group(text, all...)
		g.Errors = []rollup.ErrorTotal{{Code: text, Total: 1}}
		g.Counters = []groupby.Counter{{Name: text, Total: groupby.Sum{Hi: 1, Lo: 1}}}
		groups = append(groups, g)
	}
	r := finish(&report.Report{By: "label:" + hostileTexts[0]}, groups...)
	for _, text := range hostileTexts {
		r.Findings = append(r.Findings, report.Finding{Rule: text, Text: text})
		place := report.Place{File: text, Line: 1}
		r.Inputs.Problems = append(r.Inputs.Problems, report.Problem{Kind: text, Count: 1, First: []report.Place{place}})
		r.Revisions = append(r.Revisions, report.Revision{Name: text, First: start, Last: start, Evaluation: stage("rego_query_eval", 5)})
		r.Slowest = append(r.Slowest, report.SlowDecision{Key: text, ID: text, Time: start, Outcome: 77, Took: 1,
			Stages: []report.StageTime{{Stage: text, Took: 1}}, Place: place})
	}
	r.Inputs.Repeated, r.Inputs.Sampled = 3, 1000
	r.Overflow = groupby.Overflow{Decisions: 1, Stages: 1, Counters: 1}
	return r
}

// manyGroups has so many groups, each with so many stages.
func manyGroups(n, stages int) *report.Report {
	groups := make([]report.Group, n)
	var all []groupby.Stage
	for i := range stages {
		all = append(all, stage(fmt.Sprintf("stage_%d_%s", i, strings.Repeat("x", 1000)), int64(i+1)*1000))
	}
	for i := range groups {
		s := groupby.Slice{Begin: start, Stages: all}
		s.Outcomes[rollup.Undefined] = uint64(i)
		groups[i] = group(fmt.Sprintf("%d/%s", i, strings.Repeat("y", 1000)), s)
	}
	return finish(&report.Report{}, groups...)
}
