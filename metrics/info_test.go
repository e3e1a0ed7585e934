// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// wrapper has the methods of the interface and no others, as third-party code
// has that embeds a collection.
type wrapper struct{ metrics.Metrics }

func TestInfo(t *testing.T) {
	if got := metrics.New().Info(); got != (metrics.Info{Name: "<built-in>"}) {
		t.Errorf("Info is %#v", got)
	}
}

// TestOptionalInterfaces: a collection has the methods that its users ask for
// by a type assertion.
func TestOptionalInterfaces(t *testing.T) {
	m := metrics.New()
	if _, ok := m.(fmt.Stringer); !ok {
		t.Error("New's result is no fmt.Stringer")
	}
	if _, ok := m.(metrics.TimerMetrics); !ok {
		t.Error("New's result is no TimerMetrics")
	}
}
