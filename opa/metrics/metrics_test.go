// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"reflect"
	"testing"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	ours "github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
	"github.com/regometer/regometer/opa/metrics"
)

// These compile only if the types are OPA's own.
var (
	_ func() opametrics.Metrics = metrics.New
	_ func() opametrics.Metrics = metrics.NoOp
	_ func(...int64) any        = metrics.Statistics
	_ opametrics.Timer          = metrics.Timer(nil)
	_ opametrics.Histogram      = metrics.Histogram(nil)
	_ opametrics.Counter        = metrics.Counter(nil)
	_ opametrics.TimerMetrics   = metrics.TimerMetrics(nil)
	_ opametrics.Info           = metrics.Info{}
)

func TestNew(t *testing.T) {
	m := metrics.New()
	m.Counter("c").Add(400)
	inner, ok := opa.Unwrap(m)
	if !ok {
		t.Fatalf("New returned a %T, want a Regometer collection", m)
	}
	if got := inner.Counter("c").Value(); got != uint64(400) {
		t.Errorf("counter = %v, want 400", got)
	}
	if inner, ok := opa.Unwrap(metrics.NoOp()); !ok || inner != ours.NoOp() {
		t.Errorf("NoOp returned a %T, want Regometer's", metrics.NoOp())
	}
	if got, want := metrics.Statistics(1, 2, 30), ours.Statistics(1, 2, 30); !reflect.DeepEqual(got, want) {
		t.Errorf("Statistics = %v, want %v", got, want)
	}
}

func ExampleNew() {
	m := metrics.New() // an OPA metrics.Metrics
	m.Counter("hits").Incr()
	fmt.Println(m)
	// Output: counter_hits:1
}
