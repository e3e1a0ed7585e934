// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestOTLP: what OPA's metrics_export sends arrives at a receiver of the
// OpenTelemetry Collector as it stands on /metrics.
func TestOTLP(t *testing.T) {
	endToEnd(t)
	for _, protocol := range []string{"grpc", "http"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			address, received := startReceiver(t, protocol)
			config := startControl(t).config(nil)
			config["metrics_export"] = map[string]any{"type": "otlp/" + protocol, "address": address, "export_interval_ms": 500}
			s := startOPA(t, "pushing", config)
			s.run(t, gateway, 2*time.Second, 4, 50)
			s.run(t, calls, 2*time.Second, 2, 50)

			// Two exports begin after the work has ended; the second holds all
			// of it.
			exports := len(received.AllMetrics())
			for deadline := time.Now().Add(time.Minute); len(received.AllMetrics()) < exports+2; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("no export for a minute; OPA says:\n%s", s.lastWords(t))
				}
			}
			all := received.AllMetrics()
			compareWithScrape(t, all[len(all)-1], s.families(t))
		})
	}
}

// startReceiver starts the Collector's OTLP receiver on a free port.
func startReceiver(t *testing.T, protocol string) (address string, received *consumertest.MetricsSink) {
	t.Helper()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	switch protocol {
	case "grpc":
		config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
		config.Protocols.HTTP = configoptional.None[otlpreceiver.HTTPConfig]()
	case "http":
		config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = "127.0.0.1:0"
		config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	}
	// Its log is where it tells the port.
	core, messages := observer.New(zap.InfoLevel)
	settings := receivertest.NewNopSettings(factory.Type())
	settings.Logger = zap.New(core)
	received = new(consumertest.MetricsSink)
	r, err := factory.CreateMetrics(t.Context(), settings, config, received)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutDown(t, r) })
	for _, message := range messages.All() {
		if endpoint, ok := message.ContextMap()["endpoint"].(string); ok {
			return endpoint, received
		}
	}
	t.Fatalf("the receiver does not say where it listens: %v", messages.All())
	return "", nil
}

func shutDown(t *testing.T, c component.Component) {
	t.Helper()
	if err := c.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// families returns a scrape by protobuf.
func (s *opa) families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	text := s.get(t, "/metrics", "Accept", string(format))
	decoder := expfmt.NewDecoder(bytes.NewReader(text), format)
	families := map[string]*dto.MetricFamily{}
	for {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if err == io.EOF { //nolint:errorlint // the decoder's end, as it is
			return families
		}
		if err != nil {
			t.Fatal(err)
		}
		families[family.GetName()] = &family
	}
}

// compareWithScrape: each histogram has arrived as an exponential one with the
// same count, sum and buckets, each counter with the same value.
func compareWithScrape(t *testing.T, export pmetric.Metrics, scrape map[string]*dto.MetricFamily) {
	t.Helper()
	histograms := map[string]*dto.Histogram{}
	for _, m := range scrape["opa_decision_path_duration_seconds"].GetMetric() {
		histograms[labelsOf(m.GetLabel())] = m.GetHistogram()
	}
	counters := map[string]float64{}
	for _, m := range scrape["opa_decisions_total"].GetMetric() {
		counters[labelsOf(m.GetLabel())] = m.GetCounter().GetValue()
	}
	if len(histograms) < 10 || len(counters) < 10 {
		t.Fatalf("the scrape has %d histograms and %d counters", len(histograms), len(counters))
	}
	for _, resource := range export.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				switch m.Name() {
				case "opa_decision_path_duration_seconds":
					if m.Type() != pmetric.MetricTypeExponentialHistogram {
						t.Fatalf("%s has arrived as %v", m.Name(), m.Type())
					}
					for _, point := range m.ExponentialHistogram().DataPoints().All() {
						labels := attributesOf(point.Attributes().AsRaw())
						comparePoint(t, labels, point, histograms[labels])
						delete(histograms, labels)
					}
				case "opa_decisions_total":
					for _, point := range m.Sum().DataPoints().All() {
						labels := attributesOf(point.Attributes().AsRaw())
						if want, ok := counters[labels]; !ok || point.DoubleValue() != want {
							t.Errorf("%s{%s} is %v, want %v", m.Name(), labels, point.DoubleValue(), want)
						}
						delete(counters, labels)
					}
				}
			}
		}
	}
	for labels := range histograms {
		t.Errorf("opa_decision_path_duration_seconds{%s} has not arrived", labels)
	}
	for labels := range counters {
		t.Errorf("opa_decisions_total{%s} has not arrived", labels)
	}
}

func comparePoint(t *testing.T, labels string, got pmetric.ExponentialHistogramDataPoint, want *dto.Histogram) {
	t.Helper()
	if want == nil {
		t.Errorf("{%s} is not on /metrics", labels)
		return
	}
	if got.Count() != want.GetSampleCount() || got.Sum() != want.GetSampleSum() {
		t.Errorf("{%s}: count %d and sum %v, want %d and %v", labels, got.Count(), got.Sum(), want.GetSampleCount(), want.GetSampleSum())
	}
	if got.Scale() != want.GetSchema() || got.ZeroCount() != want.GetZeroCount() {
		t.Errorf("{%s}: scale %d and %d zeros, want %d and %d", labels, got.Scale(), got.ZeroCount(), want.GetSchema(), want.GetZeroCount())
	}
	arrived := map[int32]int64{}
	for i, n := range got.Positive().BucketCounts().All() {
		if n > 0 {
			// Bucket i of OTLP is bucket i+1 of Prometheus.
			arrived[got.Positive().Offset()+int32(i)+1] = int64(n)
		}
	}
	scraped := map[int32]int64{}
	index, n, next := int32(0), int64(0), 0
	for _, span := range want.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			n += want.GetPositiveDelta()[next]
			next++
			if n > 0 {
				scraped[index] = n
			}
			index++
		}
	}
	if !maps.Equal(arrived, scraped) {
		t.Errorf("{%s}: buckets %v, want %v", labels, arrived, scraped)
	}
	if start := got.StartTimestamp().AsTime(); math.Abs(start.Sub(want.GetCreatedTimestamp().AsTime()).Seconds()) > 1e-3 {
		t.Errorf("{%s} began at %v, want %v", labels, start, want.GetCreatedTimestamp().AsTime())
	}
}

func labelsOf(pairs []*dto.LabelPair) string {
	m := map[string]any{}
	for _, p := range pairs {
		m[p.GetName()] = p.GetValue()
	}
	return attributesOf(m)
}

// attributesOf writes labels in the order of their names.
func attributesOf(m map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%q ", name, m[name])
	}
	return b.String()
}
