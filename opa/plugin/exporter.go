// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/prom"
)

// An exporter collects all metrics that a state exports under one namespace.
// These are its counts, and metrics of the plugin itself.
type exporter struct {
	namespace string
	state     *state
	collector atomic.Pointer[prom.Collector]

	failures, received, policyPaths *prometheus.Desc
}

// The causes of failures.
const (
	causePanic = iota // a decision could not be recorded
	causeNext         // the next plugin returned an error or panicked
)

var causes = [...]string{causePanic: "panic", causeNext: "next"}

// The ways in which decisions come.
const (
	fromServer = iota // directly from OPA's server, in a binary from `regometer build`
	fromLog           // as events of the decision log
)

var sources = [...]string{fromServer: "server", fromLog: "decision_log"}

// ownSeries is the number of series that the plugin exports besides those of
// its collector. These are the failures by cause, the received decisions by
// source, the policy's paths by label, and regometer_build_info.
const ownSeries = len(causes) + len(sources) + 3 + 1

func newExporter(namespace string, s *state, c *prom.Collector) *exporter {
	desc := func(name, help, label string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_decision_"+name, help, []string{label}, nil)
	}
	e := &exporter{
		namespace: namespace, state: s,
		failures: desc("plugin_failures_total",
			"Decisions that Regometer's plugin could not record (panic), or could not pass to the next logger plugin (next).", "cause"),
		received: desc("received_total",
			"Decisions by their source: directly from OPA's server, or as events of its decision log.", "source"),
		policyPaths: desc("policy_paths",
			"Paths of the rules of the active policy: with their own label, merged into the label of a package, or other.", "label"),
	}
	e.collector.Store(c)
	return e
}

// Describe implements prometheus.Collector.
func (e *exporter) Describe(ch chan<- *prometheus.Desc) {
	e.collector.Load().Describe(ch)
	ch <- e.failures
	ch <- e.received
	ch <- e.policyPaths
}

// Collect implements prometheus.Collector.
func (e *exporter) Collect(ch chan<- prometheus.Metric) {
	e.collector.Load().Collect(ch)
	for i, cause := range causes {
		ch <- prometheus.MustNewConstMetric(e.failures, prometheus.CounterValue, float64(e.state.failures[i].Load()), cause)
	}
	for i, source := range sources {
		ch <- prometheus.MustNewConstMetric(e.received, prometheus.CounterValue, float64(e.state.received[i].Load()), source)
	}
	paths := e.state.policyPaths()
	for label, n := range map[string]int{"own": paths.own, "merged": paths.merged, "other": paths.other} {
		ch <- prometheus.MustNewConstMetric(e.policyPaths, prometheus.GaugeValue, float64(n), label)
	}
}

// buildInfo returns a metric that describes the program. It is registered once
// for each registry, and stays there.
func buildInfo(b Build) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "regometer_build_info",
		Help: "Always 1. The labels describe the program: the versions of Regometer and of OPA, and the hash of the drop-in for " +
			"OPA's metrics package, empty if there is none.",
		ConstLabels: prometheus.Labels{"version": b.Version, "opa_version": b.OPA, "dropin": b.DropIn},
	}, func() float64 { return 1 })
}
