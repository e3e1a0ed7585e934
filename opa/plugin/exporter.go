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

	failures, received, logged, policyPaths, lost, httpFailures, revisions *prometheus.Desc
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
// its collector, without the revisions. These are the failures by cause, the
// received decisions by source, the events of the decision log, the policy's
// paths by label, lost labels, the failed requests of http.send by cause, and
// regometer_build_info.
const ownSeries = len(causes) + len(sources) + 1 + 3 + len(httpCauses) + 2

// ownSeries returns how many of these there are now, with the revisions.
func (s *state) ownSeries() int {
	n := ownSeries + len(s.revisions())
	if s.logged.Load() == 0 {
		n--
	}
	if !countsHTTPSend.Load() {
		n -= len(httpCauses)
	}
	return n
}

func newExporter(namespace string, s *state, c *prom.Collector) *exporter {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_decision_"+name, help, labels, nil)
	}
	e := &exporter{
		namespace: namespace, state: s,
		failures: desc("plugin_failures_total",
			"Decisions that Regometer's plugin could not record (panic), or could not pass to the next logger plugin (next).", "cause"),
		received: desc("received_total",
			"Decisions by their source: directly from OPA's server, or as events of its decision log.", "source"),
		policyPaths: desc("policy_paths",
			"Paths of the rules of the active policy: with their own label, merged into the label of a package, or other.", "label"),
		lost: desc("labels_lost_total",
			"Labels that a new policy has taken from paths with decisions, whose decisions now have another label."),
		httpFailures: desc("http_send_failures_total",
			"Requests of http.send that failed: no answer in time (timeout), a failed connection, a status from 500 on, or other.", "cause"),
	}
	e.logged = prometheus.NewDesc(namespace+"_decision_log_events_total",
		"Events that OPA gave its decision log, without those of its drop policy. Exported from the first event that decision_logs.plugin brings.", nil, nil)
	e.revisions = prometheus.NewDesc(namespace+"_policy_info",
		"Always 1, for the active revision of each bundle. Exported only without status.prometheus, where OPA has last_success_bundle_activation.",
		[]string{"bundle", "revision"}, nil)
	e.collector.Store(c)
	return e
}

// Describe implements prometheus.Collector.
func (e *exporter) Describe(ch chan<- *prometheus.Desc) {
	e.collector.Load().Describe(ch)
	for _, desc := range [...]*prometheus.Desc{e.failures, e.received, e.logged, e.policyPaths, e.lost, e.httpFailures, e.revisions} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (e *exporter) Collect(ch chan<- prometheus.Metric) {
	e.state.exemplars.collect(e.collector.Load(), ch)
	for i, cause := range causes {
		ch <- prometheus.MustNewConstMetric(e.failures, prometheus.CounterValue, float64(e.state.failures[i].Load()), cause)
	}
	for i, source := range sources {
		ch <- prometheus.MustNewConstMetric(e.received, prometheus.CounterValue, float64(e.state.received[i].Load()), source)
	}
	if n := e.state.logged.Load(); n > 0 {
		ch <- prometheus.MustNewConstMetric(e.logged, prometheus.CounterValue, float64(n))
	}
	ch <- prometheus.MustNewConstMetric(e.lost, prometheus.CounterValue, float64(e.state.lost.Load()))
	if countsHTTPSend.Load() {
		for i, cause := range httpCauses {
			ch <- prometheus.MustNewConstMetric(e.httpFailures, prometheus.CounterValue, float64(httpFailures[i].Load()), cause)
		}
	}
	for _, r := range e.state.revisions() {
		ch <- prometheus.MustNewConstMetric(e.revisions, prometheus.GaugeValue, 1, r.bundle, r.revision)
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
