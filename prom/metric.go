// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// created is the created timestamp of every metric, the start of the process. A
// rollup is not older than the process, and counts from 0. A rollup that is
// rebuilt from the numbers of another one keeps the timestamp, because a new
// one would look like a reset.
var created = timestamppb.New(time.Now())

// metric is a prometheus.Metric in the form of its message. It never changes.
type metric struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	counter   *dto.Counter
	histogram *dto.Histogram
}

// Desc implements prometheus.Metric.
func (m *metric) Desc() *prometheus.Desc { return m.desc }

// Write implements prometheus.Metric.
func (m *metric) Write(out *dto.Metric) error {
	out.Label, out.Counter, out.Histogram = m.labels, m.counter, m.histogram
	return nil
}
