// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// Often is a rule for what many decisions of some paths do, unless a scan has a
// finding of it that says more, or most of them wait for a call that does not end.
type often struct {
	*feature
	rule        string
	each, least uint64  // the least numbers that do it: of a path, and of all such paths together
	share       float64 // the least share of a path
	more        string  // advice
}

const httpTimes = 20 // a slow call of http.send divided by the median

var oftens = []often{
	{&features[outcome.Failed], "errors_high", 50, 1, 0.05, ""},
	{&features[outcome.Cancelled], "cancelled_high", 50, 1, 0.1, ""},
	{&features[outcome.Undefined], "path_undefined", 1, 100, 0.95, " If undefined means no, add a `default` rule that says so."},
	{&hangs, hangs.rule, 1, 10, 0, ""},
	{&feature{did: fmt.Sprintf("took a second or more, and %d times the median", httpTimes), stage: httpStage, advice: stageAdvice[ofHTTP]}, "http_send_slow", 20, 1, 0.002, ""},
}

// count returns how many decisions, or calls of http.send, do it, and of how many.
func (o *often) count(g *Group) (n, of uint64) {
	calls := Stage(g.Stages, httpStage)
	switch o.kind {
	case shifted:
		return g.Outcomes[o.outcome], g.Decisions
	case unfinished:
		return calls.Unfinished, g.Decisions
	}
	d, all := &calls.Durations, calls.Durations.Count()
	limit := max(float64(time.Second), httpTimes*d.Quantile(0.5))
	if float64(d.Max()) < limit { // most paths
		return 0, all
	}
	faster := sort.Search(int(all), func(k int) bool { return d.Quantile((float64(k)+0.5)/float64(all)) >= limit })
	return all - uint64(faster), all
}

// busiest returns the client with most of the decisions of the sample with some
// paths and outcomes, and its share of them, if the log has several clients.
func (r *Report) busiest(is func(path string, of outcome.Outcome) bool) (client string, share float64) {
	clients, n := map[string]float64{}, 0.0
	for i := range r.sample.kept {
		if d := &r.sample.kept[i]; len(r.clients.list) > 1 && is(r.sample.name(d, ofPath), d.outcome) {
			of := r.sample.name(d, ofClient)
			clients[of], n = clients[of]+1, n+1
			if clients[of] > share {
				client, share = of, clients[of]
			}
		}
	}
	return client, share / max(1, n)
}

// findOften returns the findings of the scan and of these rules.
func findOften(r *Report) (found []Finding) {
	found = slices.Clone(r.byTime)
	if r.By != "path" {
		return found
	}
	type path struct {
		key   string
		n, of uint64
	}
	paths := make([][]path, len(oftens))
	// How many decisions of a path with an outcome have a call of http.send that does not end.
	hung := make([][outcome.Cancelled + 1]tally, len(r.sample.names.list))
	for i := range r.sample.kept {
		d, n := &r.sample.kept[i], 0.0
		if d.parts[ofHTTP] < 0 {
			n = 1
		}
		hung[d.names[ofPath]][d.outcome].add(n)
	}
	for _, g := range r.Groups.Sums() {
		for i := range oftens {
			o := &oftens[i]
			n, of := o.count(g)
			at := r.sample.names.find(hash.Of(0, []byte(g.Key)))
			told := o.kind == shifted && at >= 0 && hung[at][o.outcome].rate() > 0.5 || slices.ContainsFunc(r.byTime, func(f Finding) bool {
				return (f.Rule == o.rule || o.kind == shifted && f.Rule == o.feature.rule+"_rose") && (f.Path == "" || f.Path == g.Key)
			})
			if g.Key != rollup.Other && n >= o.each && Ratio(n, of) >= o.share && !told {
				paths[i] = append(paths[i], path{g.Key, n, of})
			}
		}
	}
	for i, list := range paths {
		o, n, of := &oftens[i], uint64(0), uint64(0)
		for _, p := range list {
			n, of = n+p.n, of+p.of
		}
		if n < o.least {
			continue
		}
		slices.SortStableFunc(list, func(a, b path) int { return cmp.Compare(b.n, a.n) })
		f := Finding{Rule: o.rule, Stage: o.stage, Figures: map[string]float64{"decisions": float64(of), "share": Ratio(n, of)}}
		f.setTimes(r.From, r.To)
		client, unit := "", "decisions"
		switch o.kind {
		case shifted:
			client = f.nameClient(r.busiest(func(key string, of outcome.Outcome) bool {
				return of == o.outcome && slices.ContainsFunc(list, func(p path) bool { return p.key == key })
			}))
		case slow:
			unit = "calls of `http.send`"
		}
		where := "path " + name(list[0].key)
		if len(list) > 1 {
			where = text.Plural(len(list), "path") + ": " + listed(list, func(p path) string {
				return fmt.Sprintf("%s (%s of %s)", name(p.key), text.Count(p.n), text.Count(p.of))
			})
		}
		f.Text = fmt.Sprintf("%s of %s %s (%s) %s on %s.%s", text.Count(n), text.Count(of), unit, text.Percent(Ratio(n, of)), o.did, where, client+o.advice+o.more)
		found = slices.DeleteFunc(found, func(t Finding) bool { // it says less
			return t.Severity == Info && o.rule == "path_undefined" && t.Rule == "undefined_high" && t.Client == f.Client
		})
		if len(list) == 1 {
			f.Path = list[0].key
			r.suggest(&f, "hour", []string{patternOf(f.Path)}, time.Time{}, time.Time{})
		}
		found = append(found, f)
	}
	return found
}
