// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"

	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/metrics/metricstest"
)

func TestConformance(t *testing.T) {
	metricstest.Run(t, metrics.New)
}

func TestNoOpConformance(t *testing.T) {
	metricstest.RunNoOp(t, metrics.NoOp)
}

func TestStatisticsConformance(t *testing.T) {
	metricstest.RunStatistics(t, metrics.Statistics)
}

// TestWrapperConformance: a collection that embeds one of ours, as third-party
// code does, behaves as ours.
func TestWrapperConformance(t *testing.T) {
	metricstest.Run(t, func() metrics.Metrics { return wrapper{metrics.New()} })
}
