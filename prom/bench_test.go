// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// The benchmarks have 100 histograms by path, and one more for each stage.
var benchStages = []string{"server_handler", "rego_query_parse", "rego_query_compile", "rego_query_eval", "rego_input_parse"}

const benchPaths = 20

// benchDecisions hands out the decisions that each side records.
func benchDecisions(add func(path string, o outcome.Outcome, durations []int64)) {
	random := rand.New(rand.NewPCG(5, 6))
	durations := make([]int64, len(benchStages))
	for i := range 500 * benchPaths {
		for k := range durations {
			durations[k] = max(2000, lognormal(random))
		}
		add(fmt.Sprintf("team%d/authz/allow", i%benchPaths), outcome.Outcome(i/benchPaths%6), durations)
	}
}

func benchCollector(b *testing.B) *prom.Collector {
	r := newRollup(b, rollup.Options{PathStages: benchStages, Bounds: prom.DefaultBounds()})
	benchDecisions(func(path string, o outcome.Outcome, durations []int64) {
		all := numbers(map[string]int64{"counter_server_query_cache_hit": 1})
		for k, stage := range benchStages {
			all = append(all, rollup.Number{Key: "timer_" + stage + "_ns", Value: durations[k]})
		}
		r.Add(rollup.Decision{Path: path, Outcome: o, Numbers: all})
	})
	return collector(b, r, prom.Options{})
}

// clientCollectors returns the same metrics, made with Prometheus' client
// instead of a rollup. They have no limits on labels.
func clientCollectors() []prometheus.Collector {
	const schema5 = 1.0219
	classic := []float64{1e-5, 5e-5, 1e-4, 5e-4, 0.001, 0.005, 0.01, 0.05, 0.1, 1, 10}
	histograms := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "path_duration_seconds", Help: "x", Buckets: classic, NativeHistogramBucketFactor: schema5,
	}, []string{"path", "stage"})
	self := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "path_self_seconds_total", Help: "x"}, []string{"path", "stage"})
	allHistograms := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "stage_duration_seconds", Help: "x", Buckets: classic, NativeHistogramBucketFactor: schema5,
	}, []string{"stage"})
	allSelf := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stage_self_seconds_total", Help: "x"}, []string{"stage"})
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "decisions_total", Help: "x"}, []string{"outcome", "path"})
	counters := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "counters_total", Help: "x"}, []string{"counter"})
	benchDecisions(func(path string, o outcome.Outcome, durations []int64) {
		for k, stage := range benchStages {
			histograms.WithLabelValues(path, stage).Observe(float64(durations[k]) / 1e9)
			self.WithLabelValues(path, stage).Add(float64(durations[k]) / 1e9)
			allHistograms.WithLabelValues(stage).Observe(float64(durations[k]) / 1e9)
			allSelf.WithLabelValues(stage).Add(float64(durations[k]) / 1e9)
		}
		decisions.WithLabelValues(o.String(), path).Inc()
		counters.WithLabelValues("server_query_cache_hit").Inc()
	})
	return []prometheus.Collector{histograms, self, allHistograms, allSelf, decisions, counters}
}

// BenchmarkScrape gathers and encodes, as a server does before it sends a
// scrape.
func BenchmarkScrape(b *testing.B) {
	for _, impl := range []struct {
		name       string
		collectors []prometheus.Collector
	}{
		{"regometer", []prometheus.Collector{benchCollector(b)}},
		{"client_golang", clientCollectors()},
	} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(impl.collectors...)
		histograms := 0
		for _, f := range gather(b, registry) {
			if f.GetType() == dto.MetricType_HISTOGRAM {
				histograms += len(f.GetMetric())
			}
		}
		if want := len(benchStages) * (benchPaths + 1); histograms != want {
			b.Fatalf("%s: %d histograms, want %d", impl.name, histograms, want)
		}
		for _, format := range []struct {
			name   string
			format expfmt.Format
		}{{"text", text}, {"protobuf", protobuf}} {
			b.Run("format="+format.name+"/impl="+impl.name, func(b *testing.B) {
				b.ReportAllocs()
				var out bytes.Buffer
				for b.Loop() {
					out.Reset()
					scrape(b, &out, registry, format.format)
				}
				b.ReportMetric(float64(out.Len()), "bytes/scrape")
			})
		}
	}
}
