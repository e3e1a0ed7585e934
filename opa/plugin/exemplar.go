// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/open-policy-agent/opa/v1/plugins"

	"github.com/regometer/regometer/rollup"
)

// A decision is a decision on its way to the rollup. Its Path is the path of
// the request, until tryRecord replaces it by the label.
type decision struct {
	rollup.Decision
	source int
	query  string
	trace  trace.TraceID // invalid if the request is not sampled
}

// exemplars keeps traces of decisions for the handler's histograms: the one of
// all paths, under "", and those of the paths. Each path has a histogram of
// client_golang, which counts only sampled decisions and so chooses the traces
// to keep, at most ten, over the whole range of durations. There are none
// before the first sampled decision.
type exemplars struct {
	mu     sync.Mutex
	byPath map[string]prometheus.Histogram
}

const (
	handlerStage = "server_handler"
	handlerKey   = "timer_" + handlerStage + "_ns"
)

// isTraced reports whether OPA's distributed tracing is on.
func isTraced(m *plugins.Manager) bool { return len(configOf(m).DistributedTracing) > 0 }

// sampledTrace returns the trace of a request, or an invalid one if the request
// is not sampled.
func sampledTrace(ctx context.Context) trace.TraceID {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		return span.TraceID()
	}
	return trace.TraceID{}
}

// add keeps a sampled decision, whose Path is a label. labels limits the paths:
// if there are more, all exemplars begin again.
func (e *exemplars) add(d *decision, labels int) {
	var ns int64
	for _, n := range d.Numbers {
		if n.Key == handlerKey {
			ns = n.Value
		}
	}
	if ns <= 0 {
		return // the timer still runs
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, path := range [...]string{"", d.Path} {
		h := e.byPath[path]
		if h == nil {
			if len(e.byPath) >= labels || e.byPath == nil {
				e.byPath = map[string]prometheus.Histogram{}
			}
			h = prometheus.NewHistogram(prometheus.HistogramOpts{
				Name: "exemplars", NativeHistogramBucketFactor: 2, NativeHistogramMaxBucketNumber: 10,
			})
			e.byPath[path] = h
		}
		h.(prometheus.ExemplarObserver).ObserveWithExemplar(float64(ns)/1e9, prometheus.Labels{"trace_id": d.trace.String()})
	}
}

// collect sends a collector's metrics with their exemplars.
func (e *exemplars) collect(c prometheus.Collector, ch chan<- prometheus.Metric) {
	e.mu.Lock()
	none := e.byPath == nil
	e.mu.Unlock()
	if none {
		c.Collect(ch)
		return
	}
	metrics := make(chan prometheus.Metric)
	go func() {
		defer close(metrics)
		c.Collect(metrics)
	}()
	for m := range metrics {
		ch <- exemplified{m, e}
	}
}

// exemplified is a metric that has exemplars if it is one of the handler's
// histograms.
type exemplified struct {
	prometheus.Metric
	exemplars *exemplars
}

// Write implements prometheus.Metric.
func (m exemplified) Write(out *dto.Metric) error {
	if err := m.Metric.Write(out); err != nil || out.GetHistogram() == nil {
		return err
	}
	path, stage := "", ""
	for _, l := range out.GetLabel() {
		switch l.GetName() {
		case "path":
			path = l.GetValue()
		case "stage":
			stage = l.GetValue()
		}
	}
	m.exemplars.mu.Lock()
	defer m.exemplars.mu.Unlock()
	if h := m.exemplars.byPath[path]; h != nil && stage == handlerStage {
		var kept dto.Metric
		if err := h.Write(&kept); err != nil {
			return err
		}
		out.Histogram.Exemplars = kept.GetHistogram().GetExemplars()
	}
	return nil
}
