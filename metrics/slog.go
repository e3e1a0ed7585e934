// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"log/slog"
	"slices"
	"strings"
)

// LogValue returns the metrics as a group, sorted by key: a timer as an int64 of
// nanoseconds, a counter as a uint64, and a histogram as a group with the fields
// of [Histogram.Value].
func (c *collection) LogValue() slog.Value {
	var attrs []slog.Attr
	c.store().each(func(d *descriptor, c *cell, h *histogram) bool {
		a := slog.Attr{Key: d.key}
		switch d.kind {
		case KindTimer:
			a.Value = slog.Int64Value(c.value.Load())
		case KindCounter:
			a.Value = slog.Uint64Value(uint64(c.value.Load()))
		default:
			a.Value = h.summary().logValue()
		}
		attrs = append(attrs, a)
		return true
	})
	slices.SortFunc(attrs, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	return slog.GroupValue(attrs...)
}

func (s Summary) logValue() slog.Value {
	return slog.GroupValue(
		slog.Float64("75%", s.P75),
		slog.Float64("90%", s.P90),
		slog.Float64("95%", s.P95),
		slog.Float64("99%", s.P99),
		slog.Float64("99.9%", s.P999),
		slog.Float64("99.99%", s.P9999),
		slog.Int64("count", s.Count),
		slog.Int64("max", s.Max),
		slog.Float64("mean", s.Mean),
		slog.Float64("median", s.Median),
		slog.Int64("min", s.Min),
		slog.Float64("stddev", s.StdDev),
	)
}
