// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
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

// wrapper has the methods of the interface and no others.
type wrapper struct{ metrics.Metrics }

func TestInfo(t *testing.T) {
	if got := metrics.New().Info(); got != (metrics.Info{Name: "<built-in>"}) {
		t.Errorf("Info is %#v", got)
	}
}

// TestOptionalInterfaces: what the conformance suite skips where it is missing
// is there.
func TestOptionalInterfaces(t *testing.T) {
	m := metrics.New()
	if _, ok := m.(fmt.Stringer); !ok {
		t.Error("New's result is no fmt.Stringer")
	}
	if _, ok := m.(metrics.TimerMetrics); !ok {
		t.Error("New's result is no TimerMetrics")
	}
}
