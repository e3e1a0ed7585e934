// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// A family is all metrics of one name.
type family struct {
	desc   *prometheus.Desc
	labels []string // sorted, as Prometheus requires
}

// families holds the families of a Collector.
//
// A registry keeps the help text and the label names of each metric name for
// ever. It refuses collectors that have others for the same name. So these
// texts must not depend on anything that a reload can change, except the
// namespace.
type families struct {
	decisions, errors, duration, self, pathDuration, pathSelf family
	unfinished, counters, overflow, invalid, series           family

	descs []*prometheus.Desc // of all of them
}

// outcomes are the names of the outcomes that a decision can have.
var outcomes = func() (names []string) {
	for o := range new(rollup.Path).Outcomes() {
		names = append(names, o.String())
	}
	return names
}()

func newFamilies(namespace string) *families {
	fs := &families{}
	f := func(name, help string, labels ...string) family {
		desc := prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
		fs.descs = append(fs.descs, desc)
		return family{desc, labels}
	}
	self := namespace + "_decision_stage_self_seconds_total"
	pathSelf := namespace + "_decision_path_self_seconds_total"
	fs.decisions = f("decisions_total", "Decisions by path and outcome: "+strings.Join(outcomes, ", ")+". "+
		`The path "other" stands for all paths without a label of their own.`, "outcome", "path")
	fs.errors = f("decision_errors_total", "Decisions that failed, by OPA's code of the error.", "code")
	fs.duration = f("decision_stage_duration_seconds", "Time of decisions in a stage, as OPA's timers measured it, over all "+
		"paths. Stages contain one another: add up "+self+" instead.", "stage")
	fs.self = f("decision_stage_self_seconds_total", "Time of decisions in a stage without the stages that it contains, over "+
		"all paths. Use it for sums and shares over stages.", "stage")
	fs.pathDuration = f("decision_path_duration_seconds", "Time of a path's decisions in a stage, for the stages that are kept "+
		"by path. Stages contain one another: add up "+pathSelf+" instead.", "path", "stage")
	fs.pathSelf = f("decision_path_self_seconds_total", "Time of a path's decisions in a stage without the stages that it "+
		"contains and that are kept by path. It includes the time of other stages. Use it for sums and shares.", "path", "stage")
	fs.counters = f("decision_counters_total", "OPA's own counters, such as server_query_cache_hit, summed over decisions.", "counter")
	fs.unfinished = f("decision_stage_unfinished_total", "Decisions that are missing from a stage's durations because the stage's "+
		"timer was 0. Causes: query (OPA logs POST /v1/query before it stops the handler's timer), failed (the decision "+
		"failed), unknown (the timer was still running, or the time was below the clock's resolution).", "cause", "stage")
	fs.overflow = f("decision_label_overflow_total", "Values without a label of their own, because there is no room or the name "+
		"is unknown: decisions by paths of the policy, timers by stages, and increments of counters. They are counted under "+
		"another label.", "kind")
	fs.invalid = f("decision_values_invalid_total", "Values that no other metric contains: negative durations, and malformed "+
		"values, which are counters below 0.", "reason")
	fs.series = f("decision_metric_series", "Number of series of these metrics in a text scrape, including this one.")
	return fs
}
