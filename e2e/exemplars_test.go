// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// TestExemplars: a Prometheus with exemplar-storage has traces of sampled
// decisions for the handler's histograms, and none if none is sampled.
func TestExemplars(t *testing.T) {
	harness.EndToEnd(t)
	control := startControl(t)
	for percentage, sampled := range map[int]bool{100: true, 0: false} {
		config := control.config(uploads(nil))
		config["distributed_tracing"] = map[string]any{
			"type": "grpc", "address": harness.FreeAddress(t), "sample_percentage": percentage, "service_name": "opa",
		}
		s := startOPA(t, "traced", config)
		m := startMonitor(t, map[string]string{"traced": s.address}, monitorOptions{})
		start := time.Now()
		for range 20 {
			s.decide(t, "{}", "rbac/allow")
		}
		awaitScrapes(t, m)
		q, err := m.db.ExemplarQuerier(t.Context())
		require.NoError(t, err)
		for _, name := range []string{"opa_decision_stage_duration_seconds", "opa_decision_path_duration_seconds"} {
			found, err := q.Select(start.UnixMilli(), time.Now().UnixMilli(), []*labels.Matcher{
				labels.MustNewMatcher(labels.MatchEqual, "__name__", name),
			})
			require.NoError(t, err)
			if !sampled {
				assert.Empty(t, found, name)
				continue
			}
			require.Len(t, found, 1, "series of %s with exemplars", name)
			assert.Equal(t, "server_handler", found[0].SeriesLabels.Get("stage"))
			for _, e := range found[0].Exemplars {
				assert.Len(t, e.Labels.Get("trace_id"), 32, name)
				assert.Positive(t, e.Value)
			}
		}
	}
}
