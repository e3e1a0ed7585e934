// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/prom"
)

// ownMetrics are the metrics of the plugin itself, with their labels.
var ownMetrics = [...]struct{ name, help, labels string }{
	{"decision_plugin_failures_total",
		"Decisions that Regometer's plugin could not record (panic), or could not pass to the next logger plugin (next).", "cause"},
	{"decision_received_total",
		"Decisions by their source: directly from OPA's server, or as events of its decision log.", "source"},
	{"decision_log_events_total",
		"Events that OPA gave its decision log, without those of its drop policy. Exported from the first event that decision_logs.plugin brings.", ""},
	{"decision_policy_paths", "Paths of the rules of the active policy: with their own label, merged into " +
		"the label of a package, or other. Exported only if a policy gives labels.", "label"},
	{"decision_labels_lost_total",
		"Labels that a new policy has taken from paths with decisions, whose decisions now have another label.", ""},
	{"decision_http_send_failures_total",
		"Requests of http.send that failed: no answer in time (timeout), a failed connection, a status from 500 on, or other.", "cause"},
	{"policy_info",
		"Always 1, for the active revision of each bundle. Exported only without status.prometheus, where OPA has last_success_bundle_activation.",
		"bundle revision"},
}

// An exporter collects all metrics that a state exports under one namespace.
// These are its rollup, and metrics of the plugin itself.
type exporter struct {
	namespace   string
	counts      *counts
	policyPaths func() *policyPaths // returns nil if no policy gives labels
	revisions   func() []revision
	collector   atomic.Pointer[prom.Collector]
	descs       map[string]*prometheus.Desc // of ownMetrics
}

func newExporter(namespace string, c *counts, paths func() *policyPaths, revisions func() []revision) *exporter {
	e := &exporter{namespace: namespace, counts: c, policyPaths: paths, revisions: revisions, descs: map[string]*prometheus.Desc{}}
	for _, m := range ownMetrics {
		e.descs[m.name] = prometheus.NewDesc(namespace+"_"+m.name, m.help, strings.Fields(m.labels), nil)
	}
	return e
}

// Describe implements prometheus.Collector.
func (e *exporter) Describe(ch chan<- *prometheus.Desc) {
	e.collector.Load().Describe(ch)
	for _, desc := range e.descs {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (e *exporter) Collect(ch chan<- prometheus.Metric) {
	e.collector.Load().Collect(ch)
}

// own returns the metrics of the plugin itself, and the number of those that
// buildInfo has. For logs, it returns only what a log tells, because a metric
// of 0 would be wrong if the value is unknown.
func (e *exporter) own() (all []prometheus.Metric, others int) {
	add := func(name string, kind prometheus.ValueType, n uint64, labels ...string) {
		all = append(all, prometheus.MustNewConstMetric(e.descs[name], kind, float64(n), labels...))
	}
	count := func(name string, n *atomic.Uint64, labels ...string) {
		add(name, prometheus.CounterValue, n.Load(), labels...)
	}
	c := e.counts
	count("decision_received_total", &c.received[fromLog], sources[fromLog])
	count("decision_labels_lost_total", &c.lost)
	if paths := e.policyPaths(); paths != nil {
		add("decision_policy_paths", prometheus.GaugeValue, uint64(paths.own), "own")
		add("decision_policy_paths", prometheus.GaugeValue, uint64(paths.merged), "merged")
		add("decision_policy_paths", prometheus.GaugeValue, uint64(paths.other), "other")
	}
	if c.ofLogs {
		return all, 1
	}
	count("decision_received_total", &c.received[fromServer], sources[fromServer])
	for i, cause := range causes {
		count("decision_plugin_failures_total", &c.failures[i], cause)
	}
	if c.logged.Load() > 0 {
		count("decision_log_events_total", &c.logged)
	}
	if countsHTTPSend.Load() {
		for i, cause := range httpCauses {
			count("decision_http_send_failures_total", &httpFailures[i], cause)
		}
	}
	for _, r := range e.revisions() {
		add("policy_info", prometheus.GaugeValue, 1, r.bundle, r.revision)
	}
	return all, 1
}

// buildInfo returns a metric that describes the program: the version of
// Regometer, or "" for that in the build information; OPA's version and the hash
// of the drop-in. It is registered once for each registry, and stays there.
func buildInfo(version, opa, dropIn string) prometheus.Collector {
	if version == "" {
		version = "devel"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = versionIn(info)
		}
	}
	labels := prometheus.Labels{"version": version}
	if opa != "" {
		labels["opa_version"], labels["dropin"] = opa, dropIn
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "regometer_build_info",
		Help: "Always 1. The labels describe the program: the version of Regometer and, for an OPA, OPA's version and the hash of the " +
			"drop-in for OPA's metrics package, empty if there is none.",
		ConstLabels: labels,
	}, func() float64 { return 1 })
}

// versionIn returns this module's version in a program, or "devel" if it is not
// a released version.
func versionIn(info *debug.BuildInfo) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/regometer/regometer/opa" && m.Replace == nil && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "devel"
}
