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
// A registry keeps the help text and the label names of a name for ever, and refuses another collector of that name
// with different ones. So these depend on nothing that a reload can change, the namespace apart.
type families struct {
	duration, self, decisions, events, unfinished, overflow, invalid, series family
}

func newFamilies(namespace string) *families {
	f := func(name, help string, labels ...string) family {
		return family{prometheus.NewDesc(namespace+"_"+name, help, labels, nil), labels}
	}
	return &families{
		duration: f("decision_stage_duration_seconds", durationHelp(namespace), "path", "stage"),
		self: f("decision_stage_self_seconds_total", "Time in a stage of decisions without the stages that it contains. "+
			"Sums and shares over stages are right with it.", "path", "stage"),
		decisions: f("decisions_total", "Decisions by path and outcome: "+outcomeList()+". "+
			`The path "other" is all that have no label of their own.`, "outcome", "path"),
		events: f("decision_events_total", "OPA's counters (timers and histograms apart), summed over decisions.",
			"event", "path"),
		unfinished: f("decision_stage_unfinished_total", "Decisions whose timer of the stage was 0: still running when the "+
			"decision was logged, or below the clock's resolution. They are not in the stage's durations.", "stage"),
		overflow: f("decision_label_overflow_total", `What was counted under the label "other" because the limit of this kind `+
			"was reached. Nothing is lost but the name.", "kind"),
		invalid: f("decision_values_invalid_total", "Values that were left out of all other metrics: negative durations; "+
			"and malformed ones, which are no 64-bit integers or are counters below 0.", "reason"),
		series: f("decision_metric_series", "How many series these metrics have in a text scrape, this one included."),
	}
}

func (f *families) all() []*family {
	return []*family{&f.duration, &f.self, &f.decisions, &f.events, &f.unfinished, &f.overflow, &f.invalid, &f.series}
}

// durationHelp says what the stages are. What matters most comes first, since some back ends cut help texts.
func durationHelp(namespace string) string {
	var s strings.Builder
	s.WriteString("Time that decisions spent in a stage, as OPA's timers measured it. Stages contain one another: add up " +
		namespace + "_decision_stage_self_seconds_total, not this. Each known stage, the one that it is in " +
		"(or, if that was not measured, what that is in), and what it measures: ")
	separator := ""
	for _, stage := range rollup.DefaultStages() {
		if strings.HasSuffix(stage.Name, "*") {
			continue // a family of timers, without a label
		}
		s.WriteString(separator + stage.Name)
		if parents := strings.Fields(stage.Parent); len(parents) > 0 {
			s.WriteString(" (in " + strings.Join(parents, " or ") + ")")
		}
		s.WriteString(": " + stage.Help)
		separator = "; "
	}
	s.WriteByte('.')
	return s.String()
}

func outcomeList() string {
	names := make([]string, outcomes)
	for o := range names {
		names[o] = rollup.Outcome(o).String()
	}
	return strings.Join(names, ", ")
}
