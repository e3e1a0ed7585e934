// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// distributionOf returns the distribution of values in nanoseconds.
func distributionOf(values []int64, schema int32) *distribution {
	d := &distribution{schema: schema, buckets: map[int32]uint64{}}
	for _, v := range values {
		d.count++
		d.buckets[int32(math.Ceil(math.Log2(float64(v)*1e-9)*math.Exp2(float64(schema))))]++
	}
	return d
}

// What Prometheus' own histograms export is read as it was recorded, also if
// the paths' histograms have different resolutions.
func TestReadScrape(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	var all []int64
	rng := rand.New(rand.NewPCG(1, 2))
	for path, factor := range map[string]float64{"a": 1.022, "b": 1.1} {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: stageMetric, Help: "x", NativeHistogramBucketFactor: factor, NativeHistogramZeroThreshold: 1e-12,
			ConstLabels: prometheus.Labels{"path": path},
		}, []string{"stage"})
		registry.MustRegister(h)
		for range 500 {
			ns := int64(math.Exp(rng.NormFloat64()+11)) + 1
			all = append(all, ns)
			h.WithLabelValues("x").Observe(float64(ns) * 1e-9)
		}
		h.WithLabelValues("y").Observe(0)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	for _, f := range families {
		if err := expfmt.NewEncoder(&b, format).Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	text := b.String()
	got, err := readScrape(&b, format)
	if err != nil || len(got.stages) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	x := got.stages["x"]
	if x.schema != 3 || x.count != uint64(len(all)) {
		t.Errorf("schema %d, count %d", x.schema, x.count)
	}
	slices.Sort(all)
	for _, percent := range []int{1, 50, 95, 99, 100} {
		got, want := x.nearestRank(percent), float64(nearestRank(all, percent))
		if math.Abs(got/want-1) > x.bound()+1e-9 {
			t.Errorf("p%d: %.0f, want %.0f within %.4f", percent, got, want, x.bound())
		}
	}
	if y := got.stages["y"]; y.count != 2 || y.nearestRank(99) != 0 {
		t.Errorf("zeros: %+v", y)
	}
	if _, err := readScrape(strings.NewReader(text[:len(text)-3]), format); err == nil || !strings.Contains(err.Error(), "GET /metrics cannot be read") {
		t.Errorf("half an answer: %v", err)
	}
}

func TestStageAgrees(t *testing.T) {
	t.Parallel()
	values := []int64{1000, 2000, 3000}
	table := func(change func(*distribution)) *stage {
		list := stages{"x": {values: slices.Clone(values)}}.table()
		d := distributionOf(values, 5)
		change(d)
		compareScraped(list, map[string]*distribution{"x": d})
		return &list[0]
	}
	if err := table(func(*distribution) {}).agrees(); err != nil {
		t.Error(err)
	}
	off := table(func(d *distribution) {
		shifted := map[int32]uint64{}
		for i, n := range d.buckets {
			shifted[i+1] = n
		}
		d.buckets = shifted
	})
	if err := off.agrees(); err == nil || !strings.Contains(err.Error(), "p50: /metrics says") {
		t.Errorf("a bucket too far: %v", err)
	}
}
