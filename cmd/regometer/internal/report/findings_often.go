// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// Often is a rule for what many decisions of some paths, or of the whole log, do,
// unless a scan has a finding of it that says more.
type often struct {
	rule, did string
	scanned   []string // other rules of the scan about it
	// count returns how many decisions, or calls, do it, and of how many.
	count func(*Group) (n, of uint64)
	// The least numbers that do it: of each path, and of all paths together or of
	// the log.
	each, least uint64
	// The least shares: of each path, and of the log. With a share above 1, the
	// rule does not judge the log.
	share, whole float64
	stage        string
	calls        bool // it counts calls in the stage
	advice       string
}

const httpStops = " Such a call reached its time limit, or the decision was cancelled. OPA does not log how long it took, so this time counts as evaluation." +
	" Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may."

const httpTimes = 20 // a slow call of http.send divided by the median

var oftens = []often{
	{
		rule: "errors_high", scanned: []string{"errors_rose"}, did: "decisions (%s) failed",
		count: ended(outcome.Failed), each: 50, least: 50, share: 0.2, whole: 0.05,
		advice: " Find the cause in the messages of the errors in the log, and the paths with `--by path`.",
	}, {
		rule: "cancelled_high", scanned: []string{"cancelled_rose"}, did: "decisions (%s) were cancelled",
		count: ended(outcome.Cancelled), each: 50, least: 50, share: 0.2, whole: 0.05, advice: outcomeTexts[outcome.Cancelled].advice,
	}, {
		rule: "path_undefined", scanned: []string{"undefined_rose"}, did: "decisions (%s) were undefined",
		count: ended(outcome.Undefined), least: 100, share: 0.95, whole: 2,
		advice: outcomeTexts[outcome.Undefined].advice + " If undefined means no, add a `default` rule that says so.",
	}, {
		rule: "http_send_unfinished", did: "decisions (%s) had a call of `http.send` that did not end",
		count: func(g *Group) (n, of uint64) { return stage(g.Stages, httpStage).Unfinished, g.Decisions },
		least: 10, stage: httpStage, advice: httpStops,
	}, {
		rule: "http_send_slow", did: fmt.Sprintf("calls of `http.send` (%%s) took a second or more, and %d times the median", httpTimes),
		count: countSlow, each: 20, least: 20, share: 0.002, whole: 2, stage: httpStage, calls: true, advice: stageAdvice[ofHTTP],
	},
}

func ended(o outcome.Outcome) func(*Group) (uint64, uint64) {
	return func(g *Group) (uint64, uint64) { return g.Outcomes[o], g.Decisions }
}

// countSlow returns the number of slow calls of http.send, and of all.
func countSlow(g *Group) (n, of uint64) {
	d := &stage(g.Stages, httpStage).Durations
	limit := max(float64(time.Second), httpTimes*d.Quantile(0.5))
	if float64(d.Max()) < limit {
		return 0, d.Count()
	}
	all := d.Count()
	faster := sort.Search(int(all), func(k int) bool { return d.Quantile((float64(k)+0.5)/float64(all)) >= limit })
	return all - uint64(faster), all
}

// findOften returns the findings of these rules.
func findOften(r *Report) (found []Finding) {
	type path struct {
		key, text string
		n, of     uint64
	}
	paths := make([][]path, len(oftens))
	told := func(o *often, is func(*Finding) bool) bool {
		return slices.ContainsFunc(r.byTime, func(f Finding) bool { return (f.Rule == o.rule || slices.Contains(o.scanned, f.Rule)) && is(&f) })
	}
	for _, g := range r.Groups.Sums() {
		for i := range oftens {
			o := &oftens[i]
			n, of := o.count(g)
			if r.By == "path" && g.Key != rollup.Other && n >= max(1, o.each) && Ratio(n, of) >= o.share && !told(o, func(f *Finding) bool { return f.Path == "" || f.Path == g.Key }) {
				p := path{g.Key, fmt.Sprintf("%s (%s of %s)", name(g.Key), text.Count(n), text.Count(of)), n, of}
				if d := &stage(g.Stages, o.stage).Durations; o.calls {
					p.text += fmt.Sprintf(" with a median of %s and a maximum of %s", text.Duration(d.Quantile(0.5)), text.Duration(float64(d.Max())))
				}
				paths[i] = append(paths[i], p)
			}
		}
	}
	for i := range oftens {
		o, n, of, where := &oftens[i], uint64(0), uint64(0), ""
		for _, p := range paths[i] {
			n, of = n+p.n, of+p.of
		}
		if len(paths[i]) > 0 {
			slices.SortStableFunc(paths[i], func(a, b path) int { return cmp.Compare(b.n, a.n) })
			where = " on " + text.Plural(len(paths[i]), "path") + ": " + listed(paths[i], func(p path) string { return p.text })
		} else if !told(o, func(*Finding) bool { return true }) {
			n, of = o.count(&r.Total)
		}
		if n < o.least || where == "" && Ratio(n, of) < o.whole {
			continue
		}
		f := Finding{Rule: o.rule, Stage: o.stage, Figures: map[string]float64{"decisions": float64(of), "share": Ratio(n, of)}}
		f.setTimes(r.From, r.To)
		f.Text = fmt.Sprintf("%s of %s "+o.did+"%s.", text.Count(n), text.Count(of), text.Percent(Ratio(n, of)), where)
		if o.rule == "errors_high" {
			f.Text += commonest(r.Total.Errors)
		}
		f.Text += o.advice
		if len(paths[i]) == 1 {
			f.Path = paths[i][0].key
			var more []string
			if o.calls {
				more = []string{"--slowest", "10"}
			}
			r.suggest(&f, "hour", []string{patternOf(f.Path)}, time.Time{}, time.Time{}, more...)
		}
		found = append(found, f)
	}
	return found
}
