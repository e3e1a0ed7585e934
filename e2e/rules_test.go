// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/rules"
)

// testRules: Prometheus has evaluated the rules without errors, and each
// recording rule has recorded numbers, but for those that need a day or half an
// hour. TestRealFaults is about these and about the alerts.
func testRules(t *testing.T, f *fleet) {
	for _, m := range []*monitor{f.native, f.classic} {
		recorded := 0
		for _, rule := range m.rules.Rules() {
			if rule.Health() == rules.HealthBad {
				t.Errorf("rule %s: %v", rule.Name(), rule.LastError())
			}
			rule, ok := rule.(*rules.RecordingRule)
			if !ok || strings.HasSuffix(rule.Name(), "1w") || strings.HasSuffix(rule.Name(), ":increase30m") {
				continue
			}
			recorded++
			if rule.Health() != rules.HealthGood || !hasData(m.vector(t, rule.Name(), f.settled)) {
				t.Errorf("rule %s has recorded nothing", rule.Name())
			}
		}
		if recorded < 20 {
			t.Errorf("%d recording rules found", recorded)
		}
	}
}
