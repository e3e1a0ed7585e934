// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/regometer/regometer/exphist"
)

// A builder makes the metrics of one scrape. Each scrape needs new memory,
// because its metrics are read after Collect has returned, and others may keep
// them.
type builder struct {
	metrics []prometheus.Metric
	series  int // the number of series that metrics have in a text scrape

	samples    slab[sample]
	histograms slab[histogram]
	buckets    slab[bucket]
	native     native
}

// zeroThreshold is above 0, because otherwise the OTLP bridge might not notice
// that a histogram has exponential buckets. It is the default of Prometheus' Go
// client, so that histograms merge without conversion. It is far below any
// duration.
var zeroThreshold = prometheus.DefNativeHistogramZeroThreshold

// sample is a counter. Its message points to its value and labels.
type sample struct {
	metric
	labels  labels
	message dto.Counter
	value   float64
}

// histogram is a histogram without its buckets. Its message points to the other
// fields.
type histogram struct {
	metric
	labels       labels
	message      dto.Histogram
	count, zeros uint64
	sum          float64
	schema       int32
}

// bucket is a classic bucket.
type bucket struct {
	message dto.Bucket
	count   uint64
	bound   float64
}

// labels are the label pairs of a metric.
type labels struct {
	list   [2]*dto.LabelPair
	pairs  [2]dto.LabelPair
	values [2]string
}

// set fills l with values for the labels of f, in their order.
func (l *labels) set(f *family, values []string) []*dto.LabelPair {
	n := copy(l.values[:], values)
	for i := range n {
		l.pairs[i].Name, l.pairs[i].Value = &f.labels[i], &l.values[i]
		l.list[i] = &l.pairs[i]
	}
	return l.list[:n:n] // without spare room, so that a registry that appends labels makes a copy
}

// counter adds a counter with values for the labels of f.
func (b *builder) counter(f *family, value float64, labels ...string) {
	s := b.samples.next()
	s.value = value
	s.message.Value, s.message.CreatedTimestamp = &s.value, created
	s.desc, s.metric.labels, s.metric.counter = f.desc, s.labels.set(f, labels), &s.message
	b.metrics = append(b.metrics, s)
	b.series++
}

// histogram adds a copy of e with values for the labels of f.
func (b *builder) histogram(f *family, e *exphist.Snapshot, labels ...string) {
	h := b.histograms.next()
	h.count, h.zeros, h.sum, h.schema = e.Count(), e.Zeros(), e.ExportedSum(), int32(e.Layout().Schema)
	m := &h.message
	m.SampleCount, m.SampleSum, m.CreatedTimestamp = &h.count, &h.sum, created
	m.Schema, m.ZeroThreshold, m.ZeroCount = &h.schema, &zeroThreshold, &h.zeros
	b.native.write(m, e)
	bounds := e.Layout().Bounds
	b.classic(m, e, bounds)
	h.desc, h.metric.labels, h.metric.histogram = f.desc, h.labels.set(f, labels), m
	b.metrics = append(b.metrics, h)
	b.series += textSeries(len(bounds))
}

// classic gives m the classic buckets of e, one for each explicit bound.
func (b *builder) classic(m *dto.Histogram, e *exphist.Snapshot, bounds []int64) {
	m.Bucket = make([]*dto.Bucket, len(bounds))
	for i, bound := range bounds {
		k := b.buckets.next()
		k.count, k.bound = e.CountAtMost(i), inSeconds(bound)
		k.message.CumulativeCount, k.message.UpperBound = &k.count, &k.bound
		m.Bucket[i] = &k.message
	}
}
