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

// The selectors of the dashboards' variables, alone and for metrics with the
// labels path and stage.
const (
	servers = `job=~"$job",instance=~"$instance"`
	paths   = servers + `,path=~"$path"`
	stages  = paths + `,stage=~"$stage"`
)

const durations = "opa_decision_stage_duration_seconds"

// quantile returns the quantile of durations, by these labels. by ends in a
// comma if it is not empty.
func (f form) quantile(q, by, selector string) string {
	if f.classic {
		return fmt.Sprintf("histogram_quantile(%s, sum by (%sle) (rate(%s_bucket{%s}[$__rate_interval])))", q, by, durations, selector)
	}
	return fmt.Sprintf("histogram_quantile(%s, %s)", q, f.sum(by, selector))
}

// perSecond returns how many durations there are in a second.
func (f form) perSecond(by, selector string) string {
	if f.classic {
		return fmt.Sprintf("sum%s (rate(%s_count{%s}[$__rate_interval]))", grouping(by), durations, selector)
	}
	return fmt.Sprintf("histogram_count(%s)", f.sum(by, selector))
}

// mean returns the mean duration.
func (f form) mean(by, selector string) string {
	if f.classic {
		return fmt.Sprintf("sum%s (rate(%s_sum{%s}[$__rate_interval])) / %s", grouping(by), durations, selector, f.perSecond(by, selector))
	}
	return fmt.Sprintf("histogram_avg(%s)", f.sum(by, selector))
}

// buckets returns the distribution itself, for heat maps.
func (f form) buckets(selector string) string {
	if f.classic {
		return fmt.Sprintf("sum by (le) (rate(%s_bucket{%s}[$__rate_interval]))", durations, selector)
	}
	return f.sum("", selector)
}

func (f form) sum(by, selector string) string {
	return fmt.Sprintf("sum%s (rate(%s{%s}[$__rate_interval]))", grouping(by), durations, selector)
}

func grouping(by string) string {
	if by == "" {
		return ""
	}
	return " by (" + by[:len(by)-1] + ")"
}
