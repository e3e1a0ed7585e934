// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// testRules: Prometheus has evaluated the rules without errors, each recording
// rule has recorded numbers, and each alert would have something to judge.
func testRules(t *testing.T, f *fleet) {
	recorded := map[*monitor][]string{}
	for _, m := range []*monitor{f.native, f.classic} {
		alerts := 0
		for _, rule := range m.rules.Rules() {
			if rule.Health() != rules.HealthGood {
				t.Errorf("rule %s: %s: %v", rule.Name(), rule.Health(), rule.LastError())
			}
			switch rule := rule.(type) {
			case *rules.RecordingRule:
				recorded[m] = append(recorded[m], rule.Name())
				if !hasData(m.vector(t, rule.Name(), f.settled)) {
					t.Errorf("rule %s has recorded nothing", rule.Name())
				}
			case *rules.AlertingRule:
				alerts++
				for _, judged := range withoutThreshold(rule.Query()) {
					if !hasData(m.vector(t, judged.String(), f.settled)) {
						t.Errorf("alert %s: no data from\n%s", rule.Name(), judged)
					}
				}
			}
		}
		if alerts == 0 || len(recorded[m]) == 0 {
			t.Errorf("%d alerts and %d recording rules found", alerts, len(recorded[m]))
		}
	}
	if !slices.Equal(recorded[f.native], recorded[f.classic]) {
		t.Errorf("the recording rules over native and over classic histograms record different names:\n%v\n%v", recorded[f.native], recorded[f.classic])
	}
}

// withoutThreshold returns what an alert compares with its thresholds.
func withoutThreshold(e parser.Expr) []parser.Expr {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return withoutThreshold(e.Expr)
	case *parser.BinaryExpr:
		switch {
		case e.Op == parser.LAND:
			return append(withoutThreshold(e.LHS), withoutThreshold(e.RHS)...)
		case e.Op.IsComparisonOperator():
			return []parser.Expr{e.LHS}
		}
	}
	return []parser.Expr{e}
}
