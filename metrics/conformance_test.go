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
	metricstest.Run(t, metrics.New, metrics.NoOp, metrics.Statistics)
	m := metrics.New()
	_, isStringer := m.(fmt.Stringer)
	_, hasTimers := m.(metrics.TimerMetrics)
	if !isStringer || !hasTimers || m.Info().Name != "<built-in>" {
		t.Errorf("String method: %t, Timers method: %t, Info %v", isStringer, hasTimers, m.Info())
	}
}
