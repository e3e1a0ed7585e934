// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDecisionLogArrives: an unmodified OPA loses events of its decision log,
// and no counter moves, while the service accepts every upload. The binary of
// `regometer build` loses none.
func TestDecisionLogArrives(t *testing.T) {
	endToEnd(t)
	const n, every = 1500, 50 // decisions, of which each 50th has an error
	const policy = "package app\n\nallow := true\n\nallow := false if input.conflict\n"
	for _, c := range []struct {
		name, binary string
		loses        bool
	}{
		{"unmodified", unmodifiedOPA(t), true},
		{"ours", regometerOPA(t), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			control := startControl(t)
			control.refused.Store(0)
			log := uploads(nil)
			config := control.config(nil)
			config["decision_logs"] = log
			if c.loses {
				delete(config, "plugins")
			} else {
				log["plugin"] = "regometer"
			}
			s := startProgram(t, c.name, c.binary, asJSON(t, config))
			status, body, err := ask(t.Context(), http.MethodPut, s.url("/v1/policies/app"), policy, "")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, body)
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the sizes of inputs
			for i := range n {
				text := make([]byte, 50+random.IntN(1950)) // in hexadecimal 0.1 to 4 KB
				for j := range text {
					text[j] = byte(random.Uint32())
				}
				q := question{method: http.MethodPost, path: "/v1/data/app/allow", body: fmt.Sprintf(`{"input": {"text": "%x"}}`, text)}
				if i%every == 0 {
					q.body, q.outcome = `{"input": {"conflict": true}}`, "error"
				}
				require.NoError(t, s.ask(t, q))
			}
			time.Sleep(3 * time.Second) // until OPA has reported its counters
			metrics := s.scrape(t)
			require.NoError(t, s.Cmd.Process.Signal(os.Interrupt)) // OPA uploads the rest
			<-s.Exited
			arrived := len(control.logged())
			t.Logf("%d of %d events arrived", arrived, n)
			if c.loses {
				assert.Less(t, arrived, n/2)
			} else {
				assert.Equal(t, n, arrived)
				assert.Contains(t, metrics, fmt.Sprintf("\nopa_decision_log_events_total %d\n", n))
				assert.Contains(t, metrics, fmt.Sprintf("\nopa_decision_received_total{source=\"server\"} %d\n", n))
			}
			assert.NotRegexp(t, regexp.MustCompile(`(?m)^decision_logs_(dropped|encoding_failure|chunks_upload_failed)\S* [1-9]`), metrics)
		})
	}
}
