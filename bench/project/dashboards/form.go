// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// forms are the dashboards by file name.
var forms = map[string]form{
	"opa-decisions.json": {
		uid: "opa-decisions", title: "OPA decisions",
		needs: "Native histograms: Prometheus scrapes them with scrape_native_histograms: true.",
	},
	"opa-decisions-classic.json": {
		uid: "opa-decisions-classic", title: "OPA decisions (classic histograms)",
		needs:   "Classic histograms: for a Prometheus that does not store native ones.",
		classic: true,
	},
}

// A form is a way to query histograms.
type form struct {
	uid, title, needs string
	classic           bool
}

// The names of the plugin's metrics begin with the variable namespace.
// regometer collect has the same metrics, and its own, which begin with collect.
const (
	prefix    = "${namespace}_"
	decisions = prefix + "decisions_total"
	stageSelf = prefix + "decision_stage_self_seconds_total"
	pathSelf  = prefix + "decision_path_self_seconds_total"
	collect   = "regometer_collect_"
)

// durations is the name of a family of histograms.
type durations string

const (
	ofStages durations = prefix + "decision_stage_duration_seconds" // of all paths together
	ofPaths  durations = prefix + "decision_path_duration_seconds"  // by path, of some stages
	ofTarget durations = collect + "target_duration_seconds"        // of uploads, by class of status
)

// policyInfo has a series for the active revision of each bundle.
const policyInfo = prefix + "policy_info{" + servers + "}"

// The selectors of the dashboards' variables: for metrics without the labels
// path and stage, with one of them, and with both.
const (
	servers   = `job=~"$job",instance=~"$instance"`
	paths     = servers + `,path=~"$path"`
	stages    = servers + `,stage=~"$stage"`
	pathStage = paths + `,stage=~"$stage"`
)

// These series tell that others are 0 if they are missing.
const (
	counting = "regometer_build_info{" + servers + "}"                      // decisions, by the plugin or a collector
	logging  = `{__name__=~"decision_logs_buffer_size_.*",` + servers + "}" // on OPA's own page
)

// quantile returns the query for a quantile of durations, by these labels. by
// ends in a comma if it is not empty.
func (f form) quantile(d durations, q, by, selector string) string {
	if f.classic {
		return fmt.Sprintf("histogram_quantile(%s, sum by (%sle) (rate(%s_bucket{%s}[$__rate_interval])))", q, by, d, selector)
	}
	return fmt.Sprintf("histogram_quantile(%s, %s)", q, rate(string(d), by, selector))
}

// perSecond returns the query for the number of durations per second.
func (f form) perSecond(d durations, by, selector string) string {
	if f.classic {
		return rate(string(d)+"_count", by, selector)
	}
	return fmt.Sprintf("histogram_count(%s)", rate(string(d), by, selector))
}

// mean returns the query for the mean duration.
func (f form) mean(d durations, by, selector string) string {
	if f.classic {
		return rate(string(d)+"_sum", by, selector) + " / " + f.perSecond(d, by, selector)
	}
	return fmt.Sprintf("histogram_avg(%s)", rate(string(d), by, selector))
}

// buckets returns the query for the distribution itself, for heat maps.
func (f form) buckets(d durations, selector string) string {
	if f.classic {
		return rate(string(d)+"_bucket", "le,", selector)
	}
	return rate(string(d), "", selector)
}

// rate returns the query for an increase per second, by these labels.
func rate(metric, by, selector string) string {
	return "sum" + grouping(by) + " (rate(" + metric + "{" + selector + "}[$__rate_interval]))"
}

// inHalfHour returns the query for an increase of what is rare, because OPA by
// default uploads every five to ten minutes.
func inHalfHour(metric, by string) string {
	return "sum by (" + by + ") (increase(" + metric + "{" + servers + "}[30m]))"
}

// orZero returns the query for expr, or for 0 while no server has such a
// series, but one has known. The line of zeros has the label's value "none" in
// its legend. label is "" if the legend needs none.
func orZero(expr, label, known string) string {
	zero := "0 * group(" + known + ")"
	if label != "" {
		zero = fmt.Sprintf(`label_replace(%s, %q, "none", "", "")`, zero, label)
	}
	return expr + " or on () " + zero
}

func grouping(by string) string {
	if by == "" {
		return ""
	}
	return " by (" + by[:len(by)-1] + ")"
}
