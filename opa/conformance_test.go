// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"testing"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/metrics/metricstest"
	"github.com/regometer/regometer/opa"
)

func TestConformance(t *testing.T) {
	metricstest.Run(t, func() opametrics.Metrics { return opa.Metrics(metrics.New()) },
		func() opametrics.Metrics { return opa.Metrics(metrics.NoOp()) }, nil)
}

func TestWrapperConformance(t *testing.T) {
	metricstest.Run(t, func() opametrics.Metrics { return opa.Metrics(bare{metrics.New()}) }, nil, nil)
}
