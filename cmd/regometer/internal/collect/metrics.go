// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the collector's own metrics.
type metrics struct {
	counted, repeated               prometheus.Counter
	lost, uncounted, refused, wrong *prometheus.CounterVec
	policy                          *prometheus.GaugeVec

	mu      sync.Mutex
	servers map[string]time.Time // when a server sent last
}

// silence is the time after which a server that sends nothing no longer counts.
// OPA uploads every five to ten minutes by default.
const silence = 20 * time.Minute

func newMetrics(registry prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "regometer", Subsystem: "collect", Name: name, Help: help})
		registry.MustRegister(c)
		return c
	}
	vector := func(name, label, help string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "regometer", Subsystem: "collect", Name: name, Help: help}, []string{label})
		registry.MustRegister(c)
		for _, v := range values {
			c.WithLabelValues(v)
		}
		return c
	}
	reasons := []string{"gzip", "encoding", "event_too_large", "too_large", "no_decisions"}
	m := &metrics{
		counted:   counter("bodies_counted_total", "Bodies whose decisions count."),
		repeated:  counter("bodies_repeated_total", "Bodies that came again. Their decisions count once."),
		lost:      vector("bodies_lost_total", "reason", "Bodies of OPA that were not readable and went nowhere else.", reasons...),
		uncounted: vector("bodies_uncounted_total", "reason", "Bodies that the target accepted, but that were not readable here.", reasons...),
		refused:   vector("bodies_refused_total", "reason", "Bodies that were not accepted. OPA sends them again.", "busy", "path", "sender", "slow", "target", "token"),
		wrong:     vector("event_problems_total", "kind", "Problems of events, as regometer report counts them."),
		servers:   map[string]time.Time{},
		policy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "regometer", Subsystem: "collect", Name: "policy_timestamp_seconds",
			Help: "When a source of the policy was last read, or found unchanged, in seconds since 1970. Absent until then.",
		}, []string{"source"}),
	}
	registry.MustRegister(m.policy, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "regometer", Subsystem: "collect", Name: "servers",
		Help: "Servers (by labels.id) that sent decisions in the last 20 minutes.",
	}, m.active))
	return m
}

// note notes the servers and problems of a body that counts.
func (m *metrics) note(r *bodyReader) {
	for kind, n := range r.problems {
		m.wrong.WithLabelValues(kind).Add(float64(n))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
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
	for id, last := range m.servers {
		if time.Since(last) > silence {
			delete(m.servers, id)
		}
	}
	return float64(len(m.servers))
}
