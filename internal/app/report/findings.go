// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// A rule makes a finding.
type rule struct {
	name string               // as in Finding.Rule
	text func(*Report) string // the text of the finding, or ""
}

// RuleNames returns the names that findings have, the most important first.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// find returns the findings of a report that is otherwise complete, in the
// order of the rules.
//
// In their texts, names of OPA and of the log are between backticks. Names of
// the log are shortened. They have no backticks, but may have any other
// character.
func find(r *Report) []Finding {
	var found []Finding
	for _, rule := range rules {
		if text := rule.text(r); text != "" {
			found = append(found, Finding{rule.name, text})
		}
	}
	return found
}

// The thresholds. Times follow from OPA's documentation, which has a
// millisecond as the budget of a decision where latency matters.
const (
	errorsBefore  = 200  // decisions before the rise
	errorsAfter   = 200  // decisions in it
	errorsLeast   = 20   // errors in it
	errorsTimes   = 2    // the rate divided by the rate before
	errorsPoints  = 0.01 // the rate less the rate before
	errorsScore   = 5    // the same, in standard errors
	errorsSlices  = 3    // slices of time before it
	revisionCount = 500  // evaluations of each revision
	revisionTimes = 1.2
	revisionMore  = 20 * time.Microsecond
	revisionParts = 5  // slices of time of each revision
	partCount     = 20 // evaluations in such a slice

	httpDecisions = 100
	httpShare     = 0.2
	httpHitRate   = 0.5
	compileCount  = 100
	compileRate   = 0.1

	stageDecisions   = 100
	stageShare       = 0.5
	stageMean        = time.Millisecond
	handlerDecisions = 100
	handlerShare     = 0.5
	handlerMean      = 500 * time.Microsecond

	tailCount          = 1000
	tailTimes          = 20
	tailLeast          = 10 * time.Millisecond
	undefinedDecisions = 100

	metricsCount  = 10
	metricsShare  = 0.01
	repeatedCount = 5
	repeatedShare = 0.001
)

// rules are sorted by importance: what went wrong, then where the time goes,
// then what the log itself lacks. docs/report.md describes them.
var rules = []rule{
	{"interrupted", interrupted},
	{"errors_rose", errorsRose},
	{"revision_slower", revisionSlower},
	{"http_send_uncached", httpUncached},
	{"queries_recompiled", queriesRecompiled},
	{"handler_outside_rego", handlerOutside},
	{"stage_dominates", stageDominates},
	{"path_long_tail", pathLongTail},
	{"path_undefined", pathUndefined},
	{"metrics_missing", metricsMissing},
	{"keys_beyond_limit", keysBeyond},
	{"ids_repeated", idsRepeated},
}

func interrupted(r *Report) string {
	if !r.Interrupted {
		return ""
	}
	return "Reading was interrupted: this report covers only what was read until then. Run it to the end before you compare figures."
}

func httpUncached(r *Report) string {
	s := stage(r.Total.Stages, httpStage)
	decisions := s.Durations.Count()
	part := sum.Share(s.Self, r.Total.Time)
	hits, requests := sum.Float(counter(r.Total.Counters, httpHits)), sum.Float(counter(r.Total.Counters, httpRequests))
	if requests == 0 { // an OPA that does not count them
		requests = max(0, float64(decisions)-hits)
	}
	if decisions < httpDecisions || part < httpShare || hits >= httpHitRate*(hits+requests) {
		return ""
	}
	q := quantiles(&s.Durations)
	return fmt.Sprintf("`http.send` takes %s of the time: it is in %s decisions, with a median of %s and a p99 of %s, "+
		"and %s of its answers came from the inter-query cache. Where an old answer does no harm, set `cache: true` in the call, or "+
		"`force_cache: true` with `force_cache_duration_seconds` if the other server's headers forbid it; if they are set, see whether "+
		"`caching.inter_query_builtin_cache.max_size_bytes` is too small.",
		text.Percent(part), text.Count(decisions), text.Duration(float64(q[p50])), text.Duration(float64(q[p99])), text.Percent(hits/(hits+requests)))
}

func queriesRecompiled(r *Report) string {
	s := stage(r.Total.Stages, compileStage)
	n := s.Durations.Count()
	if n < compileCount || sum.Ratio(n, r.Total.Decisions) < compileRate {
		return ""
	}
	finding := fmt.Sprintf("%s of %s decisions (%s) compiled their query, with a median of %s; compiling took %s of the time. ",
		text.Count(n), text.Count(r.Total.Decisions), text.Percent(sum.Ratio(n, r.Total.Decisions)),
		text.Duration(s.Durations.Quantile(0.5)), text.Percent(sum.Share(s.Self, r.Total.Time)))
	if r.By == "path" {
		at, most := 0, uint64(0)
		for i, g := range r.Groups.Sums() {
			if c := stage(g.Stages, compileStage).Durations.Count(); c > most {
				at, most = i, c
			}
		}
		if most > n/2 && r.Groups.Sum(at).Key == rollup.Query {
			return finding + fmt.Sprintf("%s of them are ad-hoc queries, which OPA does not cache: "+
				"make a rule of the query and ask for its path by the Data API.", text.Percent(sum.Ratio(most, n)))
		}
		if most > 0 {
			finding += fmt.Sprintf("Of the %s, %s has most of them, %s. ",
				text.Plural(r.Groups.Len(), "path"), name(r.Groups.Sum(at).Key), text.Count(most))
		}
	}
	return finding + "OPA keeps 100 compiled queries, by path, until policies or data change: " +
		"give ids in the input instead of the path, and write policies and data less often and in larger batches."
}

func handlerOutside(r *Report) string {
	handler, input := stage(r.Total.Stages, handlerStage), stage(r.Total.Stages, inputStage)
	decisions := handler.Durations.Count()
	part := sum.Share(handler.Self, r.Total.Time) + sum.Share(input.Self, r.Total.Time)
	if decisions < handlerDecisions || part < handlerShare {
		return ""
	}
	mean := (sum.Float(handler.Self) + sum.Float(input.Self)) / float64(decisions)
	if mean < float64(handlerMean) {
		return ""
	}
	finding := fmt.Sprintf("%s of the time is in the server's handler, but outside of policies: %s a decision on average, of %s decisions; "+
		"%s of that is for receiving and parsing the input. ",
		text.Percent(part), text.Duration(mean), text.Count(decisions), text.Percent(sum.Float(input.Self)/(sum.Float(handler.Self)+sum.Float(input.Self))))
	if sum.Float(input.Self) > sum.Float(handler.Self) {
		return finding + "Send only those parts of the input that policies read, and see whether clients send it slowly."
	}
	return finding + "See whether OPA waits for a processor: raise its CPU limit, or spread the load over more instances."
}

// stageDominates leaves out a stage that another rule reports.
func stageDominates(r *Report) string {
	stages := r.Total.ByTime()
	if r.Total.Decisions < stageDecisions || len(stages) == 0 {
		return ""
	}
	f := stages[0]
	part, mean := sum.Share(f.Self, r.Total.Time), sum.Float(f.Self)/float64(r.Total.Decisions)
	if part < stageShare || mean < float64(stageMean) {
		return ""
	}
	advice := "See what it does in the slowest decisions, which `--slowest 10` lists."
	reported := ""
	switch f.Name {
	case evaluationStage:
		advice = "Find the expensive rules with `opa eval --profile` and the input of a slow decision, which `--slowest 10` lists."
	case httpStage:
		advice = "Keep what it asks for longer in the cache (`force_cache_duration_seconds`), or bring it to OPA as a bundle's data."
		reported = httpUncached(r)
	case compileStage:
		reported = queriesRecompiled(r)
	case handlerStage, inputStage:
		reported = handlerOutside(r)
	}
	if reported != "" {
		return ""
	}
	return fmt.Sprintf("Stage %s takes %s of the time: %s a decision on average, with a median of %s and a p99 of %s in %s. ",
		name(f.Name), text.Percent(part), text.Duration(mean),
		text.Duration(float64(f.Quantiles[p50])), text.Duration(float64(f.Quantiles[p99])), text.Plural(f.Durations.Count(), "decision")) + advice
}

func pathLongTail(r *Report) string {
	var found []string
	paths := 0
	for _, g := range r.Groups.Sums() {
		s := Outermost(g.Stages)
		if r.By != "path" || g.Key == rollup.Other || s == nil || s.Durations.Count() < tailCount {
			continue
		}
		q := quantiles(&s.Durations)
		if q[p99] < int64(tailLeast) || q[p99]/tailTimes < q[p50] {
			continue
		}
		if paths++; paths <= 3 {
			found = append(found, fmt.Sprintf("%s (median %s, p99 %s, %s decisions)", name(g.Key),
				text.Duration(float64(q[p50])), text.Duration(float64(q[p99])), text.Count(s.Durations.Count())))
		}
	}
	if paths == 0 {
		return ""
	}
	return fmt.Sprintf("The slowest hundredth of decisions takes far longer than the usual one in %s: %s. "+
		"`--slowest 10` shows which stage it is, and `--by hour` whether it is at certain times.",
		text.Plural(paths, "path"), listed(found, paths))
}

func pathUndefined(r *Report) string {
	type path struct {
		key       string
		decisions uint64
	}
	var undefined []path
	decisions := uint64(0)
	for _, g := range r.Groups.Sums() {
		if r.By == "path" && g.Key != rollup.Other && g.Decisions > 0 && g.Outcomes[rollup.Undefined] == g.Decisions {
			undefined = append(undefined, path{g.Key, g.Decisions})
			decisions += g.Decisions
		}
	}
	if decisions < undefinedDecisions {
		return ""
	}
	slices.SortStableFunc(undefined, func(a, b path) int { return cmp.Compare(b.decisions, a.decisions) })
	var found []string
	for _, p := range undefined[:min(3, len(undefined))] {
		found = append(found, fmt.Sprintf("%s (%s)", name(p.key), text.Count(p.decisions)))
	}
	return fmt.Sprintf("%s never had a result, in %s decisions (%s of all): %s. "+
		"See whether clients spell them as the packages and rules are named, and whether the bundle that has these is loaded; "+
		"where undefined means no, a `default` rule says so.",
		text.Plural(len(undefined), "path"), text.Count(decisions), text.Percent(sum.Ratio(decisions, r.Total.Decisions)), listed(found, len(undefined)))
}

func metricsMissing(r *Report) string {
	for _, p := range r.Inputs.Problems {
		part := sum.Ratio(uint64(p.Count), uint64(r.Inputs.Decisions))
		if p.Kind == noMetrics && p.Count >= metricsCount && part >= metricsShare {
			return fmt.Sprintf("%s of %s decisions (%s) have no metrics, so their time is in no figure here. "+
				"OPA logs metrics with each decision: look for what removes the field `metrics` between OPA and this log.",
				text.Count(p.Count), text.Count(r.Inputs.Decisions), text.Percent(part))
		}
	}
	return ""
}

const noMetrics = "no_metrics" // decisionlog.NoMetrics

func keysBeyond(r *Report) string {
	o := r.Overflow
	if o == (groupby.Overflow{}) {
		return ""
	}
	return fmt.Sprintf("There was no room for all names: %s (%s) in group `other`, %s in stage `other`, "+
		"and counter `other` was raised by %s. Choose fewer with `--path`, or group by something of fewer values with `--by`; "+
		"ids that are part of paths belong in the input.",
		text.Plural(o.Decisions, "decision"), text.Percent(sum.Ratio(o.Decisions, r.Total.Decisions)), text.Plural(o.Stages, "timer"), text.Count(o.Counters))
}

func idsRepeated(r *Report) string {
	repeated, sampled := r.Inputs.Repeated, r.Inputs.Sampled
	part := sum.Ratio(uint64(repeated), uint64(sampled))
	if repeated < repeatedCount || part < repeatedShare {
		return ""
	}
	return fmt.Sprintf("Of a sample of %s decision ids, %s (%s) had been there before: these decisions are counted more than once. "+
		"See whether two of the files hold the same decisions, or whether a log shipper sent some twice.",
		text.Count(sampled), text.Count(repeated), text.Percent(part))
}
