// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// TestOTLP: a receiver of the OpenTelemetry Collector gets the same numbers
// from OPA's metrics_export as /metrics has.
func TestOTLP(t *testing.T) {
	endToEnd(t)
	for _, protocol := range []string{"grpc", "http"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			received := new(consumertest.MetricsSink)
			address := startReceiver(t, protocol, received)
			config := startControl(t).config(nil)
			config["metrics_export"] = map[string]any{"type": "otlp/" + protocol, "address": address, "export_interval_ms": 500}
			s := startOPA(t, "pushing", config)
			s.run(t, gateway, 2*time.Second, 4, 50)
			s.run(t, calls, 2*time.Second, 2, 50)

			// Two exports begin after the work. The second has all of it.
			exports := len(received.AllMetrics())
			await(t, "two exports", func() bool { return len(received.AllMetrics()) >= exports+2 })
			all := received.AllMetrics()
			scraped := s.families(t)
			histograms, sums := arrived(t, all[len(all)-1])
			wantHistograms := map[string]otlpHistogram{}
			for _, m := range scraped["opa_decision_path_duration_seconds"].GetMetric() {
				h := m.GetHistogram()
				wantHistograms[labelsOf(m)] = otlpHistogram{h.GetSampleCount(), h.GetZeroCount(), h.GetSampleSum(), h.GetSchema(), h.GetCreatedTimestamp().AsTime()}
			}
			require.GreaterOrEqual(t, len(histograms), 10)
			require.GreaterOrEqual(t, len(sums), 10)
			assert.Equal(t, wantHistograms, histograms)
			assert.Equal(t, counters(scraped["opa_decisions_total"]), sums)
		})
	}
}

// startReceiver starts the Collector's OTLP receiver, and returns its address.
// It passes the metrics to next.
func startReceiver(t *testing.T, protocol string, next consumer.Metrics) (address string) {
	address = freeAddress(t)
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	if protocol == "grpc" {
		config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = address
	} else {
		config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = address
	}
	r, err := factory.CreateMetrics(t.Context(), receivertest.NewNopSettings(factory.Type()), config, next)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, r.Shutdown(context.Background())) })
	return address
}

// An otlpHistogram is what is the same in an exponential histogram of OTLP and
// in a native histogram of Prometheus.
type otlpHistogram struct {
	count, zeros uint64
	sum          float64
	scale        int32
	start        time.Time
}

// arrived returns the histograms and counters of an export that have paths, by
// labels.
func arrived(t *testing.T, export pmetric.Metrics) (histograms map[string]otlpHistogram, sums map[string]float64) {
	histograms, sums = map[string]otlpHistogram{}, map[string]float64{}
	for _, resource := range export.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				switch m.Name() {
				case "opa_decision_path_duration_seconds":
					require.Equal(t, pmetric.MetricTypeExponentialHistogram, m.Type())
					for _, p := range m.ExponentialHistogram().DataPoints().All() {
						histograms[attributesOf(p.Attributes())] = otlpHistogram{p.Count(), p.ZeroCount(), p.Sum(), p.Scale(), p.StartTimestamp().AsTime()}
					}
				case "opa_decisions_total":
					for _, p := range m.Sum().DataPoints().All() {
						if p.DoubleValue() > 0 {
							sums[attributesOf(p.Attributes())] = p.DoubleValue()
						}
					}
				}
			}
		}
	}
	return histograms, sums
}

// counters returns the counters of a family that are not 0, by labels.
func counters(family *dto.MetricFamily) map[string]float64 {
	found := map[string]float64{}
	for _, m := range family.GetMetric() {
		if n := m.GetCounter().GetValue(); n > 0 {
			found[labelsOf(m)] = n
		}
	}
	return found
}

// labelsOf returns all labels in the order of their names.
func labelsOf(m *dto.Metric) string {
	labels := pcommon.NewMap()
	for _, p := range m.GetLabel() {
		labels.PutStr(p.GetName(), p.GetValue())
	}
	return attributesOf(labels)
}

func attributesOf(m pcommon.Map) string {
	var all []string
	for name, value := range m.All() {
		all = append(all, fmt.Sprintf("%s=%q", name, value.AsString()))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
