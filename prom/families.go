// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// A family is the metrics of one name.
type family struct {
	desc   *prometheus.Desc
	labels []string // sorted, as Prometheus wants them written
}

// families are all that a Collector exports.
//
// A registry keeps the help text and the label names of a name for ever, and
// refuses another collector of that name with different ones. So these depend
// on nothing that a reload can change, the namespace apart.
type families struct {
	decisions, errors                                                                       family
	duration, self, pathDuration, pathSelf, unfinished, counters, overflow, invalid, series family
}

func newFamilies(namespace string) *families {
	f := func(name, help string, labels ...string) family {
		return family{prometheus.NewDesc(namespace+"_"+name, help, labels, nil), labels}
	}
	self := namespace + "_decision_stage_self_seconds_total"
	pathSelf := namespace + "_decision_path_self_seconds_total"
	return &families{
		decisions: f("decisions_total", "Decisions by path and outcome: "+outcomeList()+". "+
			`The path "other" is all that have no label of their own.`, "outcome", "path"),
		errors: f("decision_errors_total", "Decisions that failed, by OPA's code of the error.", "code"),
		duration: f("decision_stage_duration_seconds", "Time that decisions spent in a stage, as OPA's timers measured it, "+
			"over all paths. Stages contain one another: add up "+self+", not this.", "stage"),
		self: f("decision_stage_self_seconds_total", "Time in a stage of decisions without the stages that it contains, over "+
			"all paths. Sums and shares over stages are right with it.", "stage"),
		pathDuration: f("decision_path_duration_seconds", "Time that the decisions of a path spent in a stage, for the stages "+
			"that are kept by path. Stages contain one another: add up "+pathSelf+", not this.", "path", "stage"),
		pathSelf: f("decision_path_self_seconds_total", "Time that the decisions of a path spent in a stage without the "+
			"stages that it contains and that are kept by path; what the others took is in it. Sums and shares are right "+
			"with it.", "path", "stage"),
		counters: f("decision_counters_total", "OPA's own counters, such as server_query_cache_hit, summed over decisions.",
			"counter"),
		unfinished: f("decision_stage_unfinished_total", "Decisions whose timer of the stage was 0, so that they are not in its "+
			"durations. Causes: query (OPA logs POST /v1/query before it stops the handler's timer), failed (so did the "+
			"decision), unknown (still running, or below the clock's resolution).", "cause", "stage"),
		overflow: f("decision_label_overflow_total", "What has no label of its own for want of room, or because the name is "+
			"unknown: decisions by paths of the policy, timers by stages, and by how much counters were raised. Nothing is lost "+
			"but the name.", "kind"),
		invalid: f("decision_values_invalid_total", "Values that were left out of all other metrics: negative durations; "+
			"and malformed ones, which are no 64-bit integers or are counters below 0.", "reason"),
		series: f("decision_metric_series", "How many series these metrics have in a text scrape, this one included."),
	}
}

func (f *families) all() []*family {
	return []*family{
		&f.decisions, &f.errors, &f.duration, &f.self, &f.pathDuration, &f.pathSelf,
		&f.counters, &f.unfinished, &f.overflow, &f.invalid, &f.series,
	}
}

func outcomeList() string {
	names := make([]string, outcomes)
	for o := range names {
		names[o] = rollup.Outcome(o).String()
	}
	return strings.Join(names, ", ")
}
