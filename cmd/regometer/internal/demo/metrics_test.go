// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// The schema is 3. One of its buckets holds 2^0.5 to 2^0.625.
func TestQuantile(t *testing.T) {
	t.Parallel()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", NativeHistogramBucketFactor: 1.1})
	var m dto.Metric
	for _, value := range []float64{0, 1e-6, math.Exp2(0.51), math.Exp2(0.55), math.Exp2(0.6), math.Exp2(0.61), 1e3, 1e3, 1e3, 1e6} {
		h.Observe(value)
	}
	if err := h.Write(&m); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[float64]float64{
		0.05: 0, 0.1: 0, 0.3: math.Exp2(0.5 + 0.125/4), 0.5: math.Exp2(0.5 + 0.125*3/4), 0.6: math.Exp2(0.625),
		0.9: math.Exp2(math.Ceil(8*math.Log2(1e3)) / 8), 1: math.Exp2(math.Ceil(8*math.Log2(1e6)) / 8),
	} {
		if got := quantile(m.GetHistogram(), q); math.Abs(got-want) > 1e-9*want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	m.Histogram.PositiveDelta = m.Histogram.PositiveDelta[:1]
	if got := quantile(m.GetHistogram(), 0.9); got != 0 {
		t.Errorf("quantile beyond the buckets is %v, want 0", got)
	}
}
