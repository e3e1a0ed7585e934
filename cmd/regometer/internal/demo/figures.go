// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/regometer/regometer/report"
	"github.com/regometer/regometer/rollup"
)

// figures are what both /metrics and a report of the decision log say of the
// same decisions, exactly. They are known by the series, as Prometheus writes
// it; times are in nanoseconds. There are none of 0.
type figures map[string]int64

// What the plugin calls that of which there are figures.
const (
	decisionsMetric  = "opa_decisions_total"
	errorsMetric     = "opa_decision_errors_total"
	countersMetric   = "opa_decision_counters_total"
	stageMetric      = "opa_decision_stage_duration_seconds"
	selfMetric       = "opa_decision_stage_self_seconds_total"
	unfinishedMetric = "opa_decision_stage_unfinished_total"
	pathMetric       = "opa_decision_path_duration_seconds"
)

var figuresMetrics = []string{
	decisionsMetric, errorsMetric, countersMetric, stageMetric, selfMetric, unfinishedMetric, pathMetric,
}

// pathStages are the stages that the plugin keeps by path.
var pathStages = rollup.DefaultPathStages()

// add adds to a figure. Labels are names and values by turns.
func (f figures) add(metric string, value int64, labels ...string) {
	if value == 0 {
		return
	}
	var pairs []string
	for pair := range slices.Chunk(labels, 2) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", pair[0], pair[1]))
	}
	f[metric+"{"+strings.Join(pairs, ",")+"}"] += value
}

// addExported adds what a family of /metrics says. A sum of seconds is exact
// in nanoseconds if it is below 2^53 of them, which are 104 days.
func (f figures) addExported(family *dto.MetricFamily) {
	name := family.GetName()
	if !slices.Contains(figuresMetrics, name) {
		return
	}
	scale := 1.0
	if strings.Contains(name, "_seconds") {
		scale = 1e9
	}
	for _, m := range family.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			if l.GetName() != "cause" { // why a timer is unfinished is not in the log
				labels = append(labels, l.GetName(), l.GetValue())
			}
		}
		if h := m.GetHistogram(); h != nil {
			f.add(name+"_count", int64(h.GetSampleCount()), labels...)
			f.add(name+"_sum", int64(math.Round(scale*h.GetSampleSum())), labels...)
		} else {
			f.add(name, int64(math.Round(scale*m.GetCounter().GetValue())), labels...)
		}
	}
}

// figuresOf returns the figures of a report by path.
func figuresOf(r *report.Report) figures {
	f := figures{}
	for _, g := range r.Groups.Sums() {
		path := exportedPath(g.Key)
		for o, n := range g.Outcomes {
			f.add(decisionsMetric, int64(n), "outcome", rollup.Outcome(o).String(), "path", path)
		}
		for i := range g.Stages {
			if s := &g.Stages[i]; slices.Contains(pathStages, s.Name) {
				f.addDurations(pathMetric, s, "path", path, "stage", s.Name)
			}
		}
	}
	for i := range r.Total.Stages {
		s := &r.Total.Stages[i]
		stage := exportedStage(s.Name)
		f.addDurations(stageMetric, s, "stage", stage)
		f.add(selfMetric, int64(s.Self.Lo), "stage", stage)
		f.add(unfinishedMetric, int64(s.Unfinished), "stage", stage)
	}
	for _, c := range r.Total.Counters {
		f.add(countersMetric, int64(c.Total.Lo), "counter", exportedCounter(c.Name))
	}
	for _, e := range r.Total.Errors {
		f.add(errorsMetric, int64(e.Total), "code", e.Code)
	}
	return f
}

func (f figures) addDurations(metric string, s *rollup.GroupStage, labels ...string) {
	_, sum := s.Durations.Sum()
	f.add(metric+"_count", int64(s.Durations.Count()), labels...)
	f.add(metric+"_sum", int64(sum), labels...)
}

// exportedPath returns under what name /metrics has a path of the workload: one
// without rules has no label of its own, since clients can make up any number.
func exportedPath(path string) string {
	if path == noRules {
		return rollup.Other
	}
	return path
}

// exportedStage returns under what name /metrics has a stage: those of
// instrumented requests are there together.
func exportedStage(name string) string {
	if at := entry(name); at < len(known) && known[at].Name == name {
		return name
	}
	return rollup.Other
}

var knownCounters = rollup.DefaultCounters()

// exportedCounter is exportedStage for counters.
func exportedCounter(name string) string {
	if slices.Contains(knownCounters, name) {
		return name
	}
	return rollup.Other
}

// differences lists the figures that /metrics and the report do not agree on.
func differences(exported, reported figures) []string {
	var list []string
	for series, n := range exported {
		if reported[series] != n {
			list = append(list, fmt.Sprintf("%s is %d in /metrics, %d in the report", series, n, reported[series]))
		}
	}
	for series, n := range reported {
		if _, ok := exported[series]; !ok {
			list = append(list, fmt.Sprintf("%s is not in /metrics, %d in the report", series, n))
		}
	}
	slices.Sort(list)
	return list
}
