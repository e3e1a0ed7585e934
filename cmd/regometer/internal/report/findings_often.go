// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// Often is a rule for what many decisions of some paths, or of the whole log, do,
// unless a scan has a finding of it that says more.
type often struct {
	what, did, advice string
	scanned           []string // the rules of the scan
	// count returns how many decisions do it, and of how many.
	count func(*Group) (n, of uint64)
	// The least numbers of decisions that do it: of each path, of all paths
	// together or of the log.
	each, least uint64
	// The least shares: of each path, and of the log. With a share above 1, the
	// rule does not judge the log.
	share, whole float64
	detail       func(*Group) string  // of a path, or nil
	closing      func(*Report) string // a sentence before the advice, or nil
	flags        []string             // of the command that it suggests
}

const httpStops = " Such a call reached its time limit, or the decision was cancelled. OPA does not log how long it took, so this time counts as evaluation." +
	" Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may."

const httpTimes = 20 // a slow call of http.send divided by the median

var (
	errorsHigh = often{
		what: "decisions", did: "failed", advice: " Find the cause in the messages of the errors in the log, and the paths with `--by path`.",
		scanned: []string{"errors_rose", "errors_high"}, count: ended(outcome.Failed), each: 50, least: 50, share: 0.2, whole: 0.05,
		closing: func(r *Report) string { return commonest(r.Total.Errors) },
	}
	cancelledHigh = often{
		what: "decisions", did: "were cancelled", advice: outcomeTexts[outcome.Cancelled].advice,
		scanned: []string{"cancelled_rose", "cancelled_high"}, count: ended(outcome.Cancelled), each: 50, least: 50, share: 0.2, whole: 0.05,
	}
	pathUndefined = often{
		what: "decisions", did: "were undefined", advice: outcomeTexts[outcome.Undefined].advice + " If undefined means no, add a `default` rule that says so.",
		scanned: []string{"undefined_rose"}, count: ended(outcome.Undefined), least: 100, share: 0.95, whole: 2,
	}
	httpUnfinished = often{
		what: "decisions", did: "had a call of `http.send` that did not end", advice: httpStops,
		scanned: []string{"http_send_unfinished"}, least: 10,
		count: func(g *Group) (n, of uint64) { return stage(g.Stages, httpStage).Unfinished, g.Decisions },
	}
	httpSlow = often{
		what: "calls of `http.send`", did: fmt.Sprintf("took a second or more, and %d times the median", httpTimes), advice: stageAdvice[ofHTTP],
		count: countSlow, each: 20, least: 20, share: 0.002, whole: 2, flags: []string{"--slowest", "10"},
		detail: func(g *Group) string {
			d := &stage(g.Stages, httpStage).Durations
			return fmt.Sprintf(" with a median of %s and a maximum of %s", text.Duration(d.Quantile(0.5)), text.Duration(float64(d.Max())))
		},
	}
)

func ended(o outcome.Outcome) func(*Group) (uint64, uint64) {
	return func(g *Group) (uint64, uint64) { return g.Outcomes[o], g.Decisions }
}

// countSlow returns the number of slow calls of http.send, and of all.
func countSlow(g *Group) (n, of uint64) {
	d := &stage(g.Stages, httpStage).Durations
	limit := max(float64(time.Second), httpTimes*d.Quantile(0.5))
	low, high := 0.5, 1.
	for range 30 {
		if q := (low + high) / 2; d.Quantile(q) >= limit {
			high = q
		} else {
			low = q
		}
	}
	return uint64((1-high)*float64(d.Count()) + 0.5), d.Count()
}

func (o often) find(r *Report) (f Finding) {
	told := slices.DeleteFunc(slices.Clone(r.byScan), func(f Finding) bool { return !slices.Contains(o.scanned, f.Rule) })
	type path struct {
		key, text string
		n         uint64
	}
	var paths []path
	var n, of uint64
	for _, g := range r.Groups.Sums() {
		k, all := o.count(g)
		known := slices.ContainsFunc(told, func(f Finding) bool { return f.Path == "" || f.Path == g.Key })
		if r.By == "path" && g.Key != rollup.Other && !known && k >= max(1, o.each) && Ratio(k, all) >= o.share {
			p := path{g.Key, fmt.Sprintf("%s (%s of %s)", name(g.Key), text.Count(k), text.Count(all)), k}
			if o.detail != nil {
				p.text += o.detail(g)
			}
			paths = append(paths, p)
			n, of = n+k, of+all
		}
	}
	if len(paths) == 0 && len(told) == 0 {
		n, of = o.count(&r.Total)
	}
	if n < o.least || len(paths) == 0 && Ratio(n, of) < o.whole {
		return f
	}
	f.setTimes(r.From, r.To)
	f.Figures = map[string]float64{"decisions": float64(of), "share": Ratio(n, of)}
	f.Text = fmt.Sprintf("%s of %s %s (%s) %s", text.Count(n), text.Count(of), o.what, text.Percent(Ratio(n, of)), o.did)
	if len(paths) > 0 {
		slices.SortStableFunc(paths, func(a, b path) int { return cmp.Compare(b.n, a.n) })
		f.Text += " on " + text.Plural(len(paths), "path") + ": " + listed(paths, func(p path) string { return p.text })
	}
	if f.Text += "."; o.closing != nil {
		f.Text += o.closing(r)
	}
	f.Text += o.advice
	if len(paths) == 1 {
		f.Path = paths[0].key
		r.suggest(&f, "hour", []string{patternOf(f.Path)}, time.Time{}, time.Time{}, o.flags...)
	}
	return f
}
