// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDecisionLogIsTheUsers: a binary of `regometer build` counts each decision
// once, whether users log, upload, drop or mask it.
func TestDecisionLogIsTheUsers(t *testing.T) {
	endToEnd(t)
	const policy = `package system.log
drop if input.input.user == "dropped"
mask contains "/result" if input.input.user == "masked"
mask contains 5 if input.input.user == "broken"`
	for name, decisionLogs := range map[string]map[string]any{
		"none":    nil,
		"console": {"console": true},
		"service": {"service": "control", "resource": "logs"},
		"plugin":  {"plugin": "regometer"},
		"both":    {"plugin": "regometer", "console": true, "service": "control", "resource": "logs"},
		"other":   {"plugin": "file_logger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := startControl(t).config(nil)
			delete(config, "decision_logs")
			if decisionLogs != nil {
				config["decision_logs"] = decisionLogs
			}
			if name == "other" {
				config["plugins"].(map[string]any)["file_logger"] = map[string]any{"path": t.TempDir() + "/decisions.log"}
			}
			s := startOPA(t, name, config)
			status, body, err := ask(t.Context(), http.MethodPut, s.url("/v1/policies/log"), policy, "")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, body)
			for _, user := range []string{"alice", "dropped", "masked", "broken"} {
				s.decide(t, fmt.Sprintf(`{"user": %q, "action": "write"}`, user), "authz/allow")
			}
			s.decide(t, "{}", "nowhere")
			got := map[string]float64{}
			for _, family := range []string{"opa_decisions_total", "opa_decision_received_total"} {
				maps.Copy(got, counters(s.families(t)[family]))
			}
			assert.Equal(t, map[string]float64{
				`outcome="allowed" path="authz/allow"`: 1, `outcome="denied" path="authz/allow"`: 3,
				`outcome="undefined" path="other"`: 1, `source="server"`: 5,
			}, got)
		})
	}
}
