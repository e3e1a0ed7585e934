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
	find     func(*Report) Finding // returns a finding without a text if there is none; nil if others find it, as find says
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
func find(r *Report) []Finding {
	found := slices.Concat(r.byTime, findOften(r), findCosts(r))
	order := map[string]int{}
	for i, rule := range rules {
		if order[rule.name] = i; rule.find != nil {
			f := rule.find(r)
			f.Rule = rule.name
			found = append(found, f)
		}
	}
	found = slices.DeleteFunc(found, func(f Finding) bool { return f.Text == "" })
	for i, f := range found {
		found[i].Severity = cmp.Or(f.Severity, rules[order[f.Rule]].severity)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(order[a.Rule], order[b.Rule]))
	})
	return found
}

// The thresholds of the rules: the least values of a finding. Times follow from
// OPA's documentation, whose budget for a decision is a millisecond if latency
// matters.
const (
	revisionCount = 500                   // evaluations of each revision
	revisionTimes = 1.2                   // the median divided by the median before
	revisionNear  = 10                    // slices of each revision that are nearest to the change
	revisionStep  = 0.5                   // the change of their median, in parts of the change of the whole median
	revisionMore  = 20 * time.Microsecond // the median minus the median before

	hitRate      = 0.5  // of answers from the cache of http.send; a finding needs less
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
	{"errors_high", Fault, needsTime, nil},
	{"denied_high", Fault, needsTime | needsResult, nil},
	{"undefined_high", Fault, needsTime | needsResult, nil},
	{"cancelled_high", Fault, needsTime, nil},
	{"other_high", Fault, needsTime | needsResult, nil},
	{"decisions_missing", Fault, needsTime, nil},
	{"server_missing", Fault, needsTime, nil},
	{"clock_off", Fault, needsTime, nil},
	{"metrics_missing", Fault, needsTime, nil},
	{"latency_rose", Fault, needsTime | needsDuration, nil},
	{"server_slower", Fault, needsTime | needsDuration, nil},
	{"client_slower", Fault, needsTime | needsDuration, nil},
	{"group_slower", Fault, needsTime | needsDuration, nil},
	{"revision_slower", Fault, needsTime | needsDuration, nil},
	{"http_send_unfinished", Fault, needsDuration, nil},
	{"http_send_slow", Fault, needsPaths | needsDuration, nil},
	{"requests_repeated", Fault, needsTime, nil},
	{"compiles_rose", Fault, needsTime | needsDuration, nil},
	{"path_undefined", Fault, needsPaths | needsTime | needsResult, nil},
	{Repeated, Fault, needsID, idsRepeated},
	{"ids_reused", Fault, needsID, idsReused},
	{"rate_fell", Info, needsTime, nil},
	{"latency_drifted", Info, needsTime | needsDuration, nil},
	{"http_send_uncached", Info, needsDuration, nil},
	{"queries_recompiled", Info, needsDuration, nil},
	{"handler_outside_rego", Info, needsDuration, nil},
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

// A cost is a rule for a stage that takes much time, where time can be saved. A
// finding needs costCount decisions, a share of the time, a share of the
// decisions, and a time in the stage alone, on average.
type cost struct {
	rule, stage string
	share, rate float64
	mean        time.Duration
	advice      func(*Report) string // returns "" if nothing can be saved
}

const costCount = 100

var costs = []cost{
	{"http_send_uncached", httpStage, 0.2, 0, 0, func(r *Report) string {
		hits, requests := Float(counter(r.Total.Counters, httpHits)), Float(counter(r.Total.Counters, httpRequests))
		if requests == 0 { // some releases of OPA do not count them
			requests = max(0, float64(stage(r.Total.Stages, httpStage).Durations.Count())-hits)
		}
		if hits >= hitRate*(hits+requests) {
			return ""
		}
		return fmt.Sprintf("%s of its answers came from the inter-query cache. If an old answer does no harm, set `cache: true` in the call. "+
			"If the other server's headers forbid caching, set `force_cache: true` and `force_cache_duration_seconds`. "+
			"If the call has these settings already, check whether `caching.inter_query_builtin_cache.max_size_bytes` is too small.", text.Percent(hits/(hits+requests)))
	}},
	{"queries_recompiled", compileStage, 0, 0.1, 0, func(r *Report) string {
		path, most := "", uint64(0)
		for _, g := range r.Groups.Sums() {
			if n := stage(g.Stages, compileStage).Durations.Count(); r.By == "path" && n > most {
				path, most = g.Key, n
			}
		}
		if path == outcome.Query && most > stage(r.Total.Stages, compileStage).Durations.Count()/2 {
			return text.Count(most) + " of them are ad-hoc queries, which OPA does not cache. Make the query a rule, and ask for the rule's path through the Data API."
		}
		said := "OPA keeps the compiled queries of 100 paths until policies or data change. " +
			"Pass ids in the input and not in the path, and write policies and data less often, in larger batches."
		if most > 0 {
			said = fmt.Sprintf("Of %s, %s has the most, %s. ", text.Plural(r.Groups.Len(), "path"), name(path), text.Count(most)) + said
		}
		return said
	}},
	{"handler_outside_rego", handlerStage, 0.5, 0, 500 * time.Microsecond, func(*Report) string {
		return "Check whether OPA waits for a processor. If it does, raise its CPU limit, or spread the load over more instances."
	}},
	{"handler_outside_rego", inputStage, 0.5, 0, 500 * time.Microsecond, func(*Report) string {
		return "Send only the parts of the input that policies read, and check whether clients send the input slowly."
	}},
}

func findCosts(r *Report) (found []Finding) {
	for _, c := range costs {
		s := stage(r.Total.Stages, c.stage)
		n, all := s.Durations.Count(), r.Total.Decisions
		share, rate, mean := Share(s.Self, r.Total.Time), Ratio(n, all), Float(s.Self)/float64(max(1, n))
		if n < costCount || share < c.share || rate < c.rate || mean < float64(c.mean) {
			continue
		}
		if advice := c.advice(r); advice != "" {
			found = append(found, Finding{Rule: c.rule, Stage: c.stage, Figures: map[string]float64{"share": share, "mean_ns": mean, "decisions": float64(n)},
				Text: fmt.Sprintf("Stage %s takes %s of the time, without the stages that it contains. %s of %s have it (%s), for %s on average. %s",
					name(c.stage), text.Percent(share), text.Count(n), text.Plural(all, "decision"), text.Percent(rate), text.Duration(mean), advice)})
		}
	}
	return found
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
