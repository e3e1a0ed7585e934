// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// typicalMeasures are five timers and two counters, as a POST to a server's
// Data API has them.
func typicalMeasures(g *Groups, r *rand.Rand) []logread.Measure {
	whole := 200e3 * math.Exp(r.NormFloat64())
	var measures []logread.Measure
	for _, m := range []struct {
		key  string
		part float64
	}{
		{"counter_rego_builtin_http_send_network_requests", 1e-5},
		{"counter_server_query_cache_hit", 1e-5},
		{"timer_rego_builtin_http_send_ns", 0.4},
		{"timer_rego_input_parse_ns", 0.1},
		{"timer_rego_query_compile_ns", 0.01},
		{"timer_rego_query_eval_ns", 0.7},
		{"timer_server_handler_ns", 1},
	} {
		measures = append(measures, logread.Measure{Metric: g.Metric([]byte(m.key)), Value: 1 + int64(whole*m.part)})
	}
	return measures
}

// BenchmarkAdd folds typical decisions into Groups: all into one group,
// or into 16 or 1,000 by turns, or into one in 200 slices of time by turns.
func BenchmarkAdd(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, test := range []struct {
		name             string
		groups, interval int64
	}{{"groups=1", 1, 0}, {"groups=16", 16, 0}, {"groups=1000", 1000, 0}, {"groups=1/slices=200", 1, 61e9}} {
		b.Run(test.name, func(b *testing.B) {
			g := newGroups(b, Limits{})
			var all [64][]logread.Measure
			for i := range all {
				all[i] = typicalMeasures(g, random)
			}
			keys := make([][]byte, test.groups)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "system/policies/authz%d/allow", i)
			}
			add := func(i int) {
				g.Add(keys[int64(i)%test.groups], 1_700_000_000e9+int64(i%200)*test.interval, outcome.Allowed, "", all[i%len(all)])
			}
			for i := range 1 << 19 {
				add(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				add(i)
			}
		})
	}
}
