// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"

	victoriametrics "github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/regometer/regometer/exphist"
)

// latencies have a median of 200 µs. Both units have the same latencies. Their
// number is a power of two.
type latencies struct {
	nanoseconds []int64
	seconds     []float64
}

const (
	values = 1 << 14
	mask   = values - 1
)

func logNormal(sigma float64) latencies {
	r := rand.New(rand.NewPCG(1, 2))
	l := latencies{make([]int64, values), make([]float64, values)}
	for i := range values {
		l.nanoseconds[i] = int64(200e3 * math.Exp(sigma*r.NormFloat64()))
		l.seconds[i] = float64(l.nanoseconds[i]) / 1e9
	}
	return l
}

// A histogram is a histogram of one of the implementations. Each has a loop of
// its own, so that no call of an interface or a function is measured too. Each
// is used as its documentation says, with the resolution and the limit of our
// default layout. VictoriaMetrics has fixed buckets, 18 for each power of ten.
type histogram struct {
	// record records n latencies, beginning with number start. After the last
	// latency follows the first.
	record func(l latencies, start, n int)
	// read reads everything that the histogram's exporter needs, and returns
	// the count.
	read func() uint64
}

var impls = []struct {
	name   string
	create func() histogram
}{
	{"regometer", newRegometer},
	{"prometheus", newPrometheus},
	{"victoriametrics", newVictoriaMetrics},
	{"opentelemetry", func() histogram { return newOpenTelemetry()() }},
}

func newRegometer() histogram {
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	var s *exphist.Snapshot // made by the first read: it is no part of a histogram
	return histogram{
		record: func(l latencies, start, n int) {
			for i := range n {
				h.Record(l.nanoseconds[(start+i)&mask])
			}
		},
		read: func() uint64 {
			if s == nil {
				s = new(exphist.Snapshot)
			}
			h.Snapshot(s)
			return s.Count()
		},
	}
}

func newPrometheus() histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:                           "latency_seconds",
		NativeHistogramBucketFactor:    1.0219, // schema 5
		NativeHistogramMaxBucketNumber: 640,
	})
	return histogram{
		record: func(l latencies, start, n int) {
			for i := range n {
				h.Observe(l.seconds[(start+i)&mask])
			}
		},
		read: func() uint64 {
			var m dto.Metric
			if err := h.Write(&m); err != nil {
				panic(err)
			}
			return m.GetHistogram().GetSampleCount()
		},
	}
}

func newVictoriaMetrics() histogram {
	h := new(victoriametrics.Histogram)
	return histogram{
		record: func(l latencies, start, n int) {
			for i := range n {
				h.Update(l.seconds[(start+i)&mask])
			}
		},
		read: func() uint64 {
			var count uint64
			h.VisitNonZeroBuckets(func(_ string, n uint64) { count += n })
			return count
		},
	}
}

// newOpenTelemetry returns a function that makes the histograms of one
// instrument, each with an attribute of its own.
func newOpenTelemetry() func() histogram {
	reader := sdk.NewManualReader(sdk.WithAggregationSelector(func(sdk.InstrumentKind) sdk.Aggregation {
		return sdk.AggregationBase2ExponentialHistogram{MaxSize: 640, MaxScale: 5}
	}))
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("bench")
	h, err := meter.Float64Histogram("latency", metric.WithUnit("s"))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	var made int
	var data metricdata.ResourceMetrics
	return func() histogram {
		made++
		attributes := metric.WithAttributeSet(attribute.NewSet(attribute.Int("n", made)))
		return histogram{
			record: func(l latencies, start, n int) {
				for i := range n {
					h.Record(ctx, l.seconds[(start+i)&mask], attributes)
				}
			},
			read: func() uint64 {
				if err := reader.Collect(ctx, &data); err != nil {
					panic(err)
				}
				points := data.ScopeMetrics[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64]).DataPoints
				return points[0].Count
			},
		}
	}
}

// newAtomicAdd is the least that recording can cost: one addition.
func newAtomicAdd() histogram {
	var sum atomic.Int64
	return histogram{
		record: func(l latencies, start, n int) {
			for i := range n {
				sum.Add(l.nanoseconds[(start+i)&mask])
			}
		},
	}
}
