// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
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
			if f.Rule == rule.name && (own.Revision == "" || f.Revision != own.Revision) {
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

	httpDecisions = 100 // decisions with http.send
	httpShare     = 0.2 // of the time
	httpHitRate   = 0.5 // share of answers from the cache; a finding needs less
	compileCount  = 100 // decisions that compile
	compileRate   = 0.1 // share of the decisions

	handlerDecisions = 100                    // decisions
	handlerShare     = 0.5                    // of the time
	handlerMean      = 500 * time.Microsecond // self time per decision

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
	{"errors_high", Fault, needsTime, errorsHigh.find},
	{"denied_high", Fault, needsTime | needsResult, nil},
	{"undefined_high", Fault, needsTime | needsResult, nil},
	{"cancelled_high", Fault, needsTime, cancelledHigh.find},
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
	{"http_send_unfinished", Fault, needsDuration, httpUnfinished.find},
	{"http_send_slow", Fault, needsPaths | needsDuration, httpSlow.find},
	{"requests_repeated", Fault, needsTime, nil},
	{"compiles_rose", Fault, needsTime | needsDuration, nil},
	{"path_undefined", Fault, needsPaths | needsTime | needsResult, pathUndefined.find},
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
