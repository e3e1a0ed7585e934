// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"

	"github.com/regometer/regometer/e2e/harness"
)

// TestOTLPFromTwoServers: two servers send to an OpenTelemetry Collector, which
// passes their metrics on to Prometheus' OTLP receiver. Each server has its own
// series, whose sums are what its clients have asked for.
func TestOTLPFromTwoServers(t *testing.T) {
	harness.EndToEnd(t)
	m := newMonitor(teststorage.New(t))
	c, err := config.Load("", promslog.NewNopLogger())
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("POST /api/v1/otlp/v1/metrics", remote.NewOTLPWriteHandler(
		promslog.NewNopLogger(), prometheus.NewRegistry(), m.db, func() config.Config { return *c }, remote.OTLPOptions{}))
	store := httptest.NewServer(mux)
	t.Cleanup(store.Close)

	factory := otlphttpexporter.NewFactory()
	out := factory.CreateDefaultConfig().(*otlphttpexporter.Config)
	out.ClientConfig.Endpoint = store.URL + "/api/v1/otlp"
	exporter, err := factory.CreateMetrics(t.Context(), exportertest.NewNopSettings(factory.Type()), out)
	require.NoError(t, err)
	require.NoError(t, exporter.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, exporter.Shutdown(context.Background())) })
	address := startReceiver(t, "grpc", exporter)

	control := startControl(t)
	want, servers := map[[2]string]int{}, map[string]*opa{}
	for _, name := range []string{"one", "two"} {
		settings := control.config(nil)
		settings["metrics_export"] = map[string]any{
			"type": "otlp/grpc", "address": address, "export_interval_ms": 500,
			"service_name": "opa", "resource": map[string]any{"service_instance_id": name},
		}
		servers[name] = startOPA(t, name, settings)
	}
	for range 3 {
		for name, s := range servers {
			s.run(t, gateway, 700*time.Millisecond, len(name), 50)
		}
	}
	total := 0
	for name, s := range servers {
		for _, n := range s.sent {
			want[[2]string{"opa", name}] += n
			total += n
		}
	}
	const sums = "sum by (job, instance) (opa_decisions_total)"
	names := [2]string{"job", "instance"}
	harness.Await(t, "Prometheus has all decisions", func() bool {
		return fmt.Sprint(m.byLabels(t, sums, time.Now(), names)) == fmt.Sprint(want) // the last export may be on its way
	})
	now := time.Now()
	assert.EqualValues(t, total, m.number(t, `histogram_count(sum(opa_decision_stage_duration_seconds{stage="server_handler"}))`, now))
	var seconds float64
	for _, s := range servers {
		for _, h := range s.families(t)["opa_decision_path_duration_seconds"].GetMetric() {
			seconds += h.GetHistogram().GetSampleSum()
		}
	}
	assert.InEpsilon(t, seconds, m.number(t, `histogram_sum(sum(opa_decision_path_duration_seconds))`, now), 1e-9)
	assert.Zero(t, m.number(t, "max(resets(opa_decisions_total[1h]))", now), "resets")
}
