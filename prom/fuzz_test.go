// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"math"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// FuzzLabels checks that a scrape succeeds with any names in a decision, and
// shows the valid ones unchanged.
func FuzzLabels(f *testing.F) {
	for _, s := range []string{"", "authz/allow", `a"b\c`, "a\nb", "päth/路径", "\xff\xfe", "a\x00b", "other", "le", "\u2028", "a\xc3"} {
		f.Add(s, s, s, s+"x", int64(1))
		f.Add(s, "stage", "event", "\xff", int64(math.MinInt64))
	}
	f.Fuzz(func(t *testing.T, path, stage, event, path2 string, d int64) {
		r := newRollup(t, rollup.Options{})
		for _, p := range []string{path, path2, path} {
			r.Add(rollup.Decision{Path: p, Outcome: outcome.Allowed, Metrics: map[string]any{
				"timer_" + stage + "_ns":  d,
				"timer_" + path + "_ns":   int64(math.MaxInt64),
				"counter_" + event:        uint64(math.MaxUint64),
				"counter_" + path2:        uint64(1),
				"histogram_" + event:      map[string]any{"count": 1},
				stage:                     d,
				"timer_" + event + "_abc": d,
			}})
		}
		registry := newRegistry(t, r, prom.Options{})
		encode(t, registry, openMetrics) // nothing here can read it
		for _, format := range []struct {
			name    string
			scraped families
		}{
			{"text", decode(t, encode(t, registry, text), text)},
			{"protobuf", decode(t, encode(t, registry, protobuf), protobuf)},
		} {
			var n float64
			found := false
			for _, m := range format.scraped["opa_decisions_total"].GetMetric() {
				n += m.GetCounter().GetValue()
				found = found || label(m, "path") == path
			}
			if n != 3 {
				t.Errorf("%s: %v decisions, want 3", format.name, n)
			}
			const longest = 1024 // see rollup's documentation
			if path != "" && len(path) <= longest && utf8.ValidString(path) && !found {
				t.Errorf("%s: no path %q", format.name, path)
			}
		}
	})
}
