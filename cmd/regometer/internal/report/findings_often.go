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

// Often is a rule for what many decisions of some paths do, unless a scan has a
// finding of it that says more.
type often struct {
	rule, did string
	scanned   string // another rule of the scan about it
	// count returns how many decisions, or calls, do it, and of how many.
	count       func(*Group) (n, of uint64)
	each, least uint64  // the least numbers that do it: of a path, and of all such paths together
	share       float64 // the least share of a path
	stage       string
	advice      string
}

const httpStops = " Such a call reached its time limit, or the decision was cancelled. OPA does not log how long it took, so this time counts as evaluation." +
	" Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may."

const httpTimes = 20 // a slow call of http.send divided by the median

var oftens = []often{
	{
		rule: "errors_high", scanned: "errors_rose", did: "decisions (%s) failed",
		count: ended(outcome.Failed), each: 50, share: 0.05, advice: outcomeTexts[outcome.Failed].advice,
	}, {
		rule: "cancelled_high", scanned: "cancelled_rose", did: "decisions (%s) were cancelled",
		count: ended(outcome.Cancelled), each: 50, share: 0.1, advice: outcomeTexts[outcome.Cancelled].advice,
	}, {
		rule: "path_undefined", scanned: "undefined_rose", did: "decisions (%s) were undefined",
		count: ended(outcome.Undefined), least: 100, share: 0.95,
		advice: outcomeTexts[outcome.Undefined].advice + " If undefined means no, add a `default` rule that says so.",
	}, {
		rule: "http_send_unfinished", did: "decisions (%s) had a call of `http.send` that did not end",
		count: func(g *Group) (n, of uint64) { return stage(g.Stages, httpStage).Unfinished, g.Decisions },
		least: 10, stage: httpStage, advice: httpStops,
	}, {
		rule: "http_send_slow", did: fmt.Sprintf("calls of `http.send` (%%s) took a second or more, and %d times the median", httpTimes),
		count: countSlow, each: 20, share: 0.002, stage: httpStage, advice: stageAdvice[ofHTTP],
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
	if r.By != "path" {
		return nil
	}
	type path struct {
		key   string
		n, of uint64
	}
	paths := make([][]path, len(oftens))
	for _, g := range r.Groups.Sums() {
		for i := range oftens {
			o := &oftens[i]
			told := slices.ContainsFunc(r.byTime, func(f Finding) bool {
				return (f.Rule == o.rule || f.Rule == o.scanned) && (f.Path == "" || f.Path == g.Key)
			})
			if n, of := o.count(g); g.Key != rollup.Other && n >= max(1, o.each) && Ratio(n, of) >= o.share && !told {
				paths[i] = append(paths[i], path{g.Key, n, of})
			}
		}
	}
	for i, list := range paths {
		o, n, of := &oftens[i], uint64(0), uint64(0)
		for _, p := range list {
			n, of = n+p.n, of+p.of
		}
		if n < max(1, o.least) {
			continue
		}
		slices.SortStableFunc(list, func(a, b path) int { return cmp.Compare(b.n, a.n) })
		f := Finding{Rule: o.rule, Stage: o.stage, Figures: map[string]float64{"decisions": float64(of), "share": Ratio(n, of)}}
		f.setTimes(r.From, r.To)
		f.Text = fmt.Sprintf("%s of %s "+o.did+" on %s: %s.%s", text.Count(n), text.Count(of), text.Percent(Ratio(n, of)), text.Plural(len(list), "path"),
			listed(list, func(p path) string {
				return fmt.Sprintf("%s (%s of %s)", name(p.key), text.Count(p.n), text.Count(p.of))
			}), o.advice)
		if len(list) == 1 {
			f.Path = list[0].key
			r.suggest(&f, "hour", []string{patternOf(f.Path)}, time.Time{}, time.Time{})
		}
		found = append(found, f)
	}
	return found
}
