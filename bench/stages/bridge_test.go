// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// export returns the metrics that a periodic reader would send for c, by name.
func export(t *testing.T, c prometheus.Collector) map[string]metricdata.Aggregation {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	reader := metric.NewManualReader(metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(registry))))
	provider := metric.NewMeterProvider(metric.WithReader(reader)) // a reader without one collects nothing
	var resource metricdata.ResourceMetrics
	if err := errors.Join(reader.Collect(t.Context(), &resource), provider.Shutdown(t.Context())); err != nil {
		t.Fatal(err)
	}
	metrics := map[string]metricdata.Aggregation{}
	for _, scope := range resource.ScopeMetrics {
		for _, m := range scope.Metrics {
			metrics[m.Name] = m.Data
		}
	}
	return metrics
}

// TestBridge checks that durations arrive as exponential histograms with the
// same counts, sums and buckets, with and without classic buckets beside them,
// also if the path that is first in order has no duration to show.
func TestBridge(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]rollup.Options{"classic": {Bounds: prom.DefaultBounds()}, "native": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := rollup.New(o)
			if err != nil {
				t.Fatal(err)
			}
			c, err := prom.NewCollector(r, prom.Options{})
			if err != nil {
				t.Fatal(err)
			}
			const stage = "rego_query_eval"
			r.Add(rollup.Decision{Path: "a", Metrics: map[string]any{"timer_" + stage + "_ns": int64(0)}})
			random := rand.New(rand.NewPCG(1, 2))
			want := map[string]*exphist.Histogram{}
			for i := range 3000 {
				path := fmt.Sprint("p", i%3)
				d := int64(1) + random.Int64N(1<<(10+random.IntN(30)))
				r.Add(rollup.Decision{Path: path, Metrics: map[string]any{"timer_" + stage + "_ns": d, "counter_server_query_cache_hit": uint64(2)}})
				if want[path] == nil {
					want[path] = exphist.New(exphist.Nanosecond)
				}
				want[path].Record(d)
			}
			metrics := export(t, c)
			durations, ok := metrics["opa_decision_path_duration_seconds"].(metricdata.ExponentialHistogram[float64])
			if !ok || durations.Temporality != metricdata.CumulativeTemporality || len(durations.DataPoints) != len(want) {
				t.Fatalf("%T, want %d cumulative exponential histograms", metrics["opa_decision_path_duration_seconds"], len(want))
			}
			for _, p := range durations.DataPoints {
				got, _ := p.Attributes.Value("stage")
				label, _ := p.Attributes.Value("path")
				path := label.AsString()
				if got.AsString() != stage {
					t.Errorf("stage %q", got.AsString())
				}
				var s exphist.Snapshot
				want[path].Snapshot(&s)
				if p.Count != s.Count() || p.Sum != s.ExportedSum() || int(p.Scale) != s.Layout().Schema || p.ZeroThreshold <= 0 {
					t.Errorf("%s: count %d, sum %v, scale %d, zero threshold %v", path, p.Count, p.Sum, p.Scale, p.ZeroThreshold)
				}
				buckets, wanted := map[int]uint64{}, map[int]uint64{}
				for i, n := range p.PositiveBucket.Counts {
					if n > 0 {
						buckets[int(p.PositiveBucket.Offset)+i+1] = n // OTLP's index is one less
					}
				}
				for b := range s.All() {
					wanted[b.Index] = b.Count
				}
				if !reflect.DeepEqual(buckets, wanted) {
					t.Errorf("%s: buckets\n%v, want\n%v", path, buckets, wanted)
				}
				checkStart(t, p.StartTime, p.Time)
			}

			hits, ok := metrics["opa_decision_counters_total"].(metricdata.Sum[float64])
			if !ok || !hits.IsMonotonic || len(hits.DataPoints) != 1 {
				t.Fatalf("counters: %v", metrics["opa_decision_counters_total"])
			}
			for _, p := range hits.DataPoints {
				if p.Value != 6000 {
					t.Errorf("%v hits, want 6000", p.Value)
				}
				checkStart(t, p.StartTime, p.Time)
			}
		})
	}
}

// checkStart fails unless the start is before now, but not long before.
func checkStart(t *testing.T, start, now time.Time) {
	t.Helper()
	if start.IsZero() || !start.Before(now) || now.Sub(start) > time.Hour {
		t.Errorf("started %v, now %v", start, now)
	}
}
