// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the collector's own metrics.
type metrics struct {
	counted, repeated               prometheus.Counter
	lost, uncounted, refused, wrong *prometheus.CounterVec
	other                           *prometheus.CounterVec
	policy                          *prometheus.GaugeVec
	progress                        prometheus.Gauge

	mu      sync.Mutex
	servers map[string]time.Time // when a server sent last
}

// silence is the time after which a server that sends nothing no longer counts.
// OPA uploads every five to ten minutes by default.
const silence = 20 * time.Minute

func newMetrics(registry prometheus.Registerer, waiting *atomic.Int64) *metrics {
	with := promauto.With(registry)
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "regometer", Subsystem: "collect", Name: name, Help: help}
	}
	vector := func(name, label, help string, values ...string) *prometheus.CounterVec {
		c := with.NewCounterVec(prometheus.CounterOpts(opts(name, help)), []string{label})
		for _, v := range values {
			c.WithLabelValues(v)
		}
		return c
	}
	reasons := []string{"gzip", "encoding", "event_too_large", "too_large", "no_decisions"}
	m := &metrics{
		counted:   with.NewCounter(prometheus.CounterOpts(opts("bodies_counted_total", "Bodies whose decisions count."))),
		repeated:  with.NewCounter(prometheus.CounterOpts(opts("bodies_repeated_total", "Bodies that came again. Their decisions count once."))),
		lost:      vector("bodies_lost_total", "reason", "Bodies of OPA that were not readable and went nowhere else.", reasons...),
		uncounted: vector("bodies_uncounted_total", "reason", "Bodies that the target accepted, but that were not readable here.", reasons...),
		refused:   vector("bodies_refused_total", "reason", "Bodies that were not accepted. OPA sends them again.", "busy", "path", "sender", "slow", "target", "token", "too_large"),
		other:     vector("other_requests_total", "kind", "Requests of an OPA for bundles or discovery, and status updates. They get status 404.", bundle, status),
		wrong:     vector("event_problems_total", "kind", "Problems of events, as regometer report counts them."),
		servers:   map[string]time.Time{},
		policy: with.NewGaugeVec(prometheus.GaugeOpts(opts("policy_timestamp_seconds",
			"When a source of the policy was last read, or found unchanged, in seconds since 1970. Absent until then.")), []string{"source"}),
		progress: with.NewGauge(prometheus.GaugeOpts(opts("bodies_in_progress", "Bodies that are read, or that wait for the target."))),
	}
	with.NewGaugeFunc(prometheus.GaugeOpts(opts("servers", "Servers (by labels.id) that sent decisions in the last 20 minutes.")), m.active)
	with.NewGaugeFunc(prometheus.GaugeOpts(opts("waiting_bytes", "Bytes of bodies that wait for the target, or to be counted.")), func() float64 { return float64(waiting.Load()) })
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// newTook returns the times of a target, by class of status.
func newTook(registry prometheus.Registerer) *prometheus.HistogramVec {
	return promauto.With(registry).NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "regometer", Subsystem: "collect", Name: "target_duration_seconds", Buckets: prometheus.DefBuckets, NativeHistogramBucketFactor: 1.1,
		Help: "Time from sending a body to the target's answer, by class of its status.",
	}, []string{"status"})
}

// note notes the servers and problems of a body that counts.
func (m *metrics) note(r *bodyReader) {
	for kind, n := range r.problems {
		m.wrong.WithLabelValues(kind).Add(float64(n))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if len(m.servers) == maxServers {
		m.sweep(now)
	}
	for id := range r.servers {
		if _, known := m.servers[id]; known || len(m.servers) < maxServers {
			m.servers[id] = now
		}
	}
}

// active returns the number of servers that are not silent, and forgets the
// others.
func (m *metrics) active() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(time.Now())
	return float64(len(m.servers))
}

// sweep forgets silent servers.
func (m *metrics) sweep(now time.Time) {
	maps.DeleteFunc(m.servers, func(_ string, last time.Time) bool { return now.Sub(last) > silence })
}

// The requests of an OPA that are no uploads, as labels.
const (
	bundle = "bundle"
	status = "status"
)
