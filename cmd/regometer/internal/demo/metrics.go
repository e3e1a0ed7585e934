// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/regometer/regometer/internal/app/opaserver"
)

// metrics are what a server answers GET /metrics with, by name.
type metrics map[string][]*dto.Metric

func getMetrics(ctx context.Context, s *opaserver.Server) (metrics, error) {
	native := expfmt.NewFormat(expfmt.TypeProtoDelim) // has native histograms
	answer, err := s.Get(ctx, "/metrics", "Accept", string(native))
	if err != nil {
		return nil, err
	}
	all := metrics{}
	for decoder := expfmt.NewDecoder(bytes.NewReader(answer), native); ; {
		var family dto.MetricFamily
		switch err := decoder.Decode(&family); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("invalid answer to GET /metrics: %w", err)
		}
		all[family.GetName()] = family.GetMetric()
	}
}

// total adds up the counters of a name and the sums of histograms. With a label
// it adds up only those that have one of its values.
func (m metrics) total(name, label string, values ...string) (sum float64) {
	for _, metric := range m[name] {
		has := label == ""
		for _, l := range metric.GetLabel() {
			has = has || l.GetName() == label && slices.Contains(values, l.GetValue())
		}
		if has {
			sum += metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum()
		}
	}
	return sum
}

// costs are the kinds of costs. Each server counts them from its start on. Go
// updates the busy time with each garbage collection, some times a second.
var costs = []struct {
	name, title string
	used        func(metrics) float64
}{
	{"handler_us", "time in the handler, µs", func(m metrics) float64 {
		return 1e6 * m.total("http_request_duration_seconds", "handler", "v1/data", "v1/query")
	}},
	{"busy_us", "busy time, µs", func(m metrics) float64 {
		return 1e6 * (m.total("go_cpu_classes_total_cpu_seconds_total", "") - m.total("go_cpu_classes_idle_cpu_seconds_total", ""))
	}},
	{"allocated_bytes", "allocated bytes", func(m metrics) float64 { return m.total("go_memstats_alloc_bytes_total", "") }},
	{"allocations", "allocations", func(m metrics) float64 { return m.total("go_memstats_mallocs_total", "") }},
}

// usedBy returns what each server has used since its start, in the order of
// costs.
func usedBy(ctx context.Context, servers []*opaserver.Server) (used [][]float64, err error) {
	for i, s := range servers {
		m, err := getMetrics(ctx, s)
		if err != nil {
			return nil, err
		}
		used = append(used, nil)
		for _, kind := range costs {
			n := kind.used(m)
			if n <= 0 {
				return nil, fmt.Errorf("/metrics of the %s lacks what %s is made of", serverNames[i], kind.name)
			}
			used[i] = append(used[i], n)
		}
	}
	return used, nil
}

// quantile estimates a quantile of a native histogram as PromQL does: it
// interpolates exponentially within the bucket of that rank.
func quantile(h *dto.Histogram, q float64) float64 {
	rank, seen, count := q*float64(h.GetSampleCount()), float64(h.GetZeroCount()), 0.0
	if rank <= seen {
		return 0
	}
	bucket, deltas := 0.0, h.GetPositiveDelta() // it ends at 2^(bucket·bucketWidth)
	for _, span := range h.GetPositiveSpan() {
		bucket += float64(span.GetOffset())
		for range min(int(span.GetLength()), len(deltas)) {
			count += float64(deltas[0])
			deltas = deltas[1:]
			if count > 0 && seen+count >= rank {
				return math.Exp2((bucket - 1 + (rank-seen)/count) * bucketWidth(h))
			}
			seen += count
			bucket++
		}
	}
	return 0
}

// bucketWidth returns log2 of the ratio of a bucket's bounds.
func bucketWidth(h *dto.Histogram) float64 { return math.Exp2(-float64(h.GetSchema())) }
