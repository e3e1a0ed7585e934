// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// A rule makes a finding.
type rule struct {
	name     string                // as in Finding.Rule
	severity string                // of its findings, unless they have one
	needs    needs                 // without which it does not run, or only in part
	find     func(*Report) Finding // returns a finding without a text if there is none; nil for findings of a scan
}

// RuleNames returns the names that findings have, the most important first.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// find returns the findings of a report that is otherwise complete: faults
// first, and then in the order of the rules.
//
// In the texts, names from OPA and from the log are between backticks. Names
// from the log are shortened. They have no backticks, but may have any other
// character.
func find(r *Report) (found []Finding) {
	for _, rule := range rules {
		var own Finding
		if rule.find != nil {
			own = rule.find(r)
		}
		for _, f := range r.byScan {
			if f.Rule == rule.name && (own.Text == "" || f.Revision != own.Revision) {
				found = append(found, f)
			}
		}
		if own.Rule = rule.name; own.Text != "" {
			found = append(found, own)
		}
	}
	for i := range found {
		f := &found[i]
		at := slices.IndexFunc(rules, func(rule rule) bool { return rule.name == f.Rule })
		f.Severity = cmp.Or(f.Severity, rules[at].severity)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	return found
}

// The thresholds of the rules: the least values of a finding, except
// httpHitRate. Times follow from OPA's documentation, whose budget for a
// decision is a millisecond if latency matters.
const (
	revisionCount = 500                   // evaluations of each revision
	revisionTimes = 1.2                   // the median divided by the median before
	revisionNear  = 10                    // slices of each revision that are nearest to the change
	revisionStep  = 0.5                   // the change of their median, in parts of the change of the whole median
	revisionMore  = 20 * time.Microsecond // the median minus the median before

	httpStopped   = 10    // calls of http.send that did not end
	httpSlowShare = 0.002 // of the calls of http.send that are slow, and
	httpSlowCalls = 20    // such calls
	httpDecisions = 100   // decisions with http.send
	httpShare     = 0.2   // of the time
	httpHitRate   = 0.5   // share of answers from the cache; a finding needs less
	compileCount  = 100   // decisions that compile
	compileRate   = 0.1   // share of the decisions

	handlerDecisions = 100                    // decisions
	handlerShare     = 0.5                    // of the time
	handlerMean      = 500 * time.Microsecond // self time per decision

	httpTimes          = 20   // a slow call divided by the median
	undefinedDecisions = 100  // decisions of such paths
	undefinedShare     = 0.95 // of the decisions of each path

	gapShare     = 0.01 // of the decisions; a finding needs more
	wrapperShare = 0.01 // of the times; a finding needs more
)

// rules are sorted by importance: first what went wrong, then where the time
// goes, then what the log itself lacks. docs/report.md describes them.
var rules = []rule{
	{"interrupted", Fault, 0, say(interrupted)},
	{PartlyRead, Fault, 0, say(partlyRead)},
	{"decisions_lost", Fault, 0, saidByOPA("it lost decisions of its log", "A chunk has any number of them. "+
		"OPA's lines say why. If its buffer was full, raise `buffer_size_limit_bytes` of `decision_logs.reporting`. "+
		"If decisions were too large, raise `upload_size_limit_bytes`, or mask parts of their input.",
		logread.LostChunks, logread.LostEvents, logread.LostAtStop)},
	{"allowed_rose", Fault, needsTime | needsResult, nil},
	{"errors_rose", Fault, needsTime, nil},
	{"denied_rose", Fault, needsTime | needsResult, nil},
	{"undefined_rose", Fault, needsTime | needsResult, nil},
	{"cancelled_rose", Fault, needsTime, nil},
	{"other_rose", Fault, needsTime | needsResult, nil},
	{"allowed_high", Fault, needsTime | needsResult, nil},
	{"errors_high", Fault, needsTime, high(outcome.Failed)},
	{"denied_high", Fault, needsTime | needsResult, nil},
	{"undefined_high", Fault, needsTime | needsResult, nil},
	{"cancelled_high", Fault, needsTime, high(outcome.Cancelled)},
	{"other_high", Fault, needsTime | needsResult, nil},
	{"decisions_missing", Fault, needsTime, nil},
	{"server_missing", Fault, needsTime, serverMissing},
	{"clock_off", Fault, needsTime, clockOff},
	{"metrics_missing", Fault, needsTime, nil},
	{"latency_rose", Fault, needsTime | needsDuration, nil},
	{"server_slower", Fault, needsTime | needsDuration, nil},
	{"client_slower", Fault, needsTime | needsDuration, nil},
	{"group_slower", Fault, needsTime | needsDuration, nil},
	{"revision_slower", Fault, needsTime | needsDuration, revisionSlower},
	{"http_send_unfinished", Fault, needsDuration, httpUnfinished},
	{"http_send_slow", Fault, needsPaths | needsDuration, httpSlow},
	{"requests_repeated", Fault, needsTime, nil},
	{"compiles_rose", Fault, needsTime | needsDuration, nil},
	{"path_undefined", Fault, needsPaths | needsTime | needsResult, pathUndefined},
	{Repeated, Fault, needsID, idsRepeated},
	{"ids_reused", Fault, needsID, idsReused},
	{"rate_fell", Info, needsTime, rateFell},
	{"latency_drifted", Info, needsTime | needsDuration, nil},
	{"http_send_uncached", Info, needsDuration, say(httpUncached)},
	{"queries_recompiled", Info, needsDuration, say(queriesRecompiled)},
	{"handler_outside_rego", Info, needsDuration, say(handlerOutside)},
	{"events_large", Info, 0, eventsLarge},
	{"uploads_failed", Info, 0, saidByOPA("uploads of its decision log failed", "OPA tries them again, so this alone loses no decision. "+
		"Check the server that receives the log, and the way to it.", logread.UploadFailed)},
	{"wrapper_times", Info, 0, say(wrapperTimes)},
	{"keys_beyond_limit", Info, 0, say(keysBeyond)},
}

// say returns a function that makes a finding of a text about all decisions.
func say(text func(*Report) string) func(*Report) Finding {
	return func(r *Report) Finding { return Finding{Text: text(r)} }
}

// setTimes sets the first and the last time of a finding.
func (f *Finding) setTimes(from, to int64) {
	if from != logread.NoTime {
		f.From, f.To = text.Time(from, time.RFC3339Nano), text.Time(to, time.RFC3339Nano)
	}
}

// scanned reports whether a scan has a finding of one of the rules.
func (r *Report) scanned(rules ...string) bool {
	return slices.ContainsFunc(r.byScan, func(f Finding) bool { return slices.Contains(rules, f.Rule) })
}

// slowerElsewhere reports whether a scan says which decisions are usually slow.
func (r *Report) slowerElsewhere() bool {
	return slices.ContainsFunc(r.byScan, func(f Finding) bool { return f.Figures["factor"] > 0 && f.Severity == Fault })
}

func interrupted(r *Report) string {
	if !r.Interrupted {
		return ""
	}
	return "Reading was interrupted, so this report covers only what was read until then. Let it run to the end before you compare figures."
}

// saidByOPA returns a function that makes a finding of what OPA says of
// decisions, and advice.
func saidByOPA(what, advice string, kinds ...logread.Problem) func(*Report) Finding {
	return func(r *Report) (f Finding) {
		names, sum := r.Inputs.problems(kinds...)
		if names == "" {
			return f
		}
		f.Text, f.Figures = "OPA says that "+what+": "+names, map[string]float64{}
		if sum.From != 0 {
			f.setTimes(sum.From, sum.To)
			f.Text += fmt.Sprintf(", from %s to %s UTC", at(sum.From), at(sum.To))
		}
		for _, kind := range kinds {
			_, p := r.Inputs.problems(kind)
			f.Figures[string(kind)] = float64(p.Count)
		}
		f.Text += ". " + advice
		return f
	}
}

func httpUncached(r *Report) string {
	s := stage(r.Total.Stages, httpStage)
	decisions := s.Durations.Count()
	part := Share(s.Self, r.Total.Time)
	hits, requests := Float(counter(r.Total.Counters, httpHits)), Float(counter(r.Total.Counters, httpRequests))
	if requests == 0 { // some releases of OPA do not count them
		requests = max(0, float64(decisions)-hits)
	}
	if decisions < httpDecisions || part < httpShare || hits >= httpHitRate*(hits+requests) {
		return ""
	}
	q := quantiles(&s.Durations)
	return fmt.Sprintf("`http.send` takes %s of the time. %s decisions call it, with a median of %s and a p99 of %s, "+
		"and %s of its answers came from the inter-query cache. If an old answer does no harm, set `cache: true` in the call. "+
		"If the other server's headers forbid caching, set `force_cache: true` and `force_cache_duration_seconds`. "+
		"If the call has these settings already, check whether `caching.inter_query_builtin_cache.max_size_bytes` is too small.",
		text.Percent(part), text.Count(decisions), text.Duration(float64(q[p50])), text.Duration(float64(q[p99])), text.Percent(hits/(hits+requests)))
}

const httpStops = " Such a call reached its time limit, or the decision was cancelled. OPA does not log how long it took, so this time counts as evaluation." +
	" Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may."

// httpUnfinished reports calls of http.send that did not end.
func httpUnfinished(r *Report) (f Finding) {
	s := stage(r.Total.Stages, httpStage)
	if s.Unfinished < httpStopped || r.scanned("http_send_unfinished") {
		return f
	}
	most, at := uint64(0), -1
	for i, g := range r.Groups.Sums() {
		if n := stage(g.Stages, httpStage).Unfinished; n > most && r.By == "path" && g.Key != rollup.Other {
			most, at = n, i
		}
	}
	f.Stage, f.Figures = httpStage, map[string]float64{"decisions": float64(s.Unfinished)}
	f.setTimes(r.From, r.To)
	f.Text = fmt.Sprintf("In %s, a call of `http.send` did not end.", text.Plural(s.Unfinished, "decision"))
	if at >= 0 {
		f.Path = r.Groups.Sum(at).Key
		f.Text += fmt.Sprintf(" %s of them have the path %s.", text.Count(most), name(f.Path))
	}
	f.Text += httpStops
	return f
}

// httpSlow reports the path with the slowest calls of http.send, if some take a
// second or more, and many times as long as usual.
func httpSlow(r *Report) (f Finding) {
	slowest := float64(time.Second)
	for _, g := range r.Groups.Sums() {
		d := &stage(g.Stages, httpStage).Durations
		n := float64(d.Count())
		part := max(httpSlowShare, httpSlowCalls/max(1, n))
		if r.By != "path" || g.Key == rollup.Other || part >= 0.5 {
			continue
		}
		long, usual := d.Quantile(1-part), d.Quantile(0.5)
		if long < slowest || long < httpTimes*usual {
			continue
		}
		slowest = long
		for step := part; step > 1e-6; step /= 2 { // the share that takes as long as a second, or 20 times the median
			if part+step < 0.5 && d.Quantile(1-part-step) >= max(float64(time.Second), httpTimes*usual) {
				part, step = part+step, 4*step
			}
		}
		f.Path, f.Stage = g.Key, httpStage
		f.Figures = map[string]float64{"median_ns": usual, "max_ns": float64(d.Max()), "share": part, "decisions": math.Round(part * n)}
		f.Text = fmt.Sprintf("%s of the calls of `http.send` on path %s (%s of %s) take %s or more, and at most %s. The median is %s.",
			text.Percent(part), name(g.Key), text.Count(uint64(math.Round(part*n))), text.Count(d.Count()),
			text.Duration(max(float64(time.Second), httpTimes*usual)), text.Duration(float64(d.Max())), text.Duration(usual)) + stageAdvice[ofHTTP]
	}
	if f.Text != "" {
		f.setTimes(r.From, r.To)
		r.suggest(&f, "hour", []string{patternOf(f.Path)}, time.Time{}, time.Time{}, "--slowest", "10")
	}
	return f
}

func queriesRecompiled(r *Report) string {
	s := stage(r.Total.Stages, compileStage)
	n := s.Durations.Count()
	if n < compileCount || Ratio(n, r.Total.Decisions) < compileRate {
		return ""
	}
	finding := fmt.Sprintf("%s of %s decisions (%s) compiled their query, with a median of %s. Compiling took %s of the time. ",
		text.Count(n), text.Count(r.Total.Decisions), text.Percent(Ratio(n, r.Total.Decisions)),
		text.Duration(s.Durations.Quantile(0.5)), text.Percent(Share(s.Self, r.Total.Time)))
	if r.By == "path" {
		at, most := 0, uint64(0)
		for i, g := range r.Groups.Sums() {
			if c := stage(g.Stages, compileStage).Durations.Count(); c > most {
				at, most = i, c
			}
		}
		if most > n/2 && r.Groups.Sum(at).Key == outcome.Query {
			return finding + fmt.Sprintf("%s of them are ad-hoc queries, which OPA does not cache. "+
				"Make the query a rule, and ask for the rule's path through the Data API.", text.Percent(Ratio(most, n)))
		}
		if most > 0 {
			finding += fmt.Sprintf("Of %s, %s has the most, %s. ",
				text.Plural(r.Groups.Len(), "path"), name(r.Groups.Sum(at).Key), text.Count(most))
		}
	}
	return finding + "OPA keeps the compiled queries of 100 paths until policies or data change. " +
		"Pass ids in the input and not in the path, and write policies and data less often, in larger batches."
}

func handlerOutside(r *Report) string {
	handler, input := stage(r.Total.Stages, handlerStage), stage(r.Total.Stages, inputStage)
	decisions := handler.Durations.Count()
	part := Share(handler.Self, r.Total.Time) + Share(input.Self, r.Total.Time)
	if decisions < handlerDecisions || part < handlerShare {
		return ""
	}
	mean := (Float(handler.Self) + Float(input.Self)) / float64(decisions)
	if mean < float64(handlerMean) {
		return ""
	}
	finding := fmt.Sprintf("%s of the time is in the server's handler but outside policies. This is %s a decision on average, for %s decisions. "+
		"%s of it goes into receiving and parsing the input. ",
		text.Percent(part), text.Duration(mean), text.Count(decisions), text.Percent(Float(input.Self)/(Float(handler.Self)+Float(input.Self))))
	if Float(input.Self) > Float(handler.Self) {
		return finding + "Send only the parts of the input that policies read, and check whether clients send the input slowly."
	}
	return finding + "Check whether OPA waits for a processor. If it does, raise its CPU limit, or spread the load over more instances."
}

func pathUndefined(r *Report) (f Finding) {
	type path struct {
		key       string
		decisions uint64
	}
	var paths []path
	decisions, undefined := uint64(0), uint64(0)
	for _, g := range r.Groups.Sums() {
		// A scan says more of a path, because it finds the time.
		if slices.ContainsFunc(r.byScan, func(f Finding) bool { return f.Rule == "undefined_rose" && f.Path == g.Key }) {
			continue
		}
		if n := g.Outcomes[outcome.Undefined]; r.By == "path" && g.Key != rollup.Other && g.Decisions > 0 && Ratio(n, g.Decisions) >= undefinedShare {
			paths = append(paths, path{g.Key, g.Decisions})
			decisions += g.Decisions
			undefined += n
		}
	}
	if decisions < undefinedDecisions {
		return f
	}
	slices.SortStableFunc(paths, func(a, b path) int { return cmp.Compare(b.decisions, a.decisions) })
	if len(paths) == 1 {
		f.Path = paths[0].key
	}
	f.setTimes(r.From, r.To)
	f.Figures = map[string]float64{"decisions": float64(decisions), "share": Ratio(undefined, decisions)}
	f.Text = fmt.Sprintf("%s hardly ever had a result, in %s decisions (%s of all): %s. "+
		"Check whether clients spell the paths like the packages and rules, and whether OPA has loaded the bundle that contains these. "+
		"If undefined means no, add a `default` rule that says so.",
		text.Plural(len(paths), "path"), text.Count(decisions), text.Percent(Ratio(decisions, r.Total.Decisions)),
		listed(paths, func(p path) string { return fmt.Sprintf("%s (%s)", name(p.key), text.Count(p.decisions)) }))
	return f
}

func keysBeyond(r *Report) string {
	o := r.Overflow
	if o == (groupby.Overflow{}) {
		return ""
	}
	return fmt.Sprintf("There was no room for all names: group `other` has %s (%s), stage `other` has %s, "+
		"and counter `other` has %s. Select fewer paths with `--path`, or group by something with fewer values with `--by`. "+
		"If ids are part of paths, pass them in the input.",
		text.Plural(o.Decisions, "decision"), text.Percent(Ratio(o.Decisions, r.Total.Decisions)), text.Plural(o.Stages, "timer"), text.Count(o.Counters))
}
