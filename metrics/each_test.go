// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"reflect"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// foreign is another implementation, whose All has entries that no metric of
// ours has.
type foreign struct{ metrics.Metrics }

func (foreign) All() map[string]any {
	return map[string]any{
		"timer_t_ns":    int64(300),
		"counter_c":     uint64(400),
		"histogram_h":   metrics.Statistics(1, 2, 4),
		"histogram_odd": map[string]any{"count": 1},
		"timer_text_ns": "300",
		"timer_x":       int64(1),
		"counter_int":   5,
		"gauge_g":       1.5,
		"nothing":       nil,
	}
}

// TestEach: Each yields what All has, of any implementation.
func TestEach(t *testing.T) {
	for name, m := range map[string]metrics.Metrics{
		"none": metrics.New(), "few": metrics.New(), "many": metrics.New(), "foreign": foreign{metrics.New()}, "no-op": metrics.NoOp(),
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "few":
				m.Timer("t").Start()
				m.Timer("t").Stop()
				m.Counter("c").Add(300)
				m.Histogram("h").Update(300)
			case "many":
				for _, name := range oddNames {
					m.Timer(name)
					m.Counter(name).Add(uint64(len(name)) << 40)
					for i := range int64(2000) {
						m.Histogram(name).Update(i)
					}
				}
			}
			all := m.All()
			got := map[string]any{}
			for metric := range metrics.Each(m) {
				if _, twice := got[metric.Key()]; twice {
					t.Errorf("%q twice", metric.Key())
				}
				got[metric.Key()] = metric.Value()
				checkMetric(t, metric, all[metric.Key()])
			}
			if len(got) != len(all) || len(all) > 0 && !reflect.DeepEqual(got, all) {
				t.Errorf("Each yields\n%v\nAll has\n%v", got, all)
			}
			for most := 1; most < len(all); most++ { // an iteration may end early
				n := 0
				for range metrics.Each(m) {
					if n++; n == most {
						break
					}
				}
				if n != most {
					t.Errorf("an iteration that was to end at metric %d ended at %d of %d", most, n, len(all))
				}
			}
		})
	}
}

// checkMetric checks that a metric's parts fit the value that All has of it.
func checkMetric(t *testing.T, m metrics.Metric, value any) {
	t.Helper()
	var key string
	var wantInt64 int64
	var wantUint64 uint64
	var wantSummary metrics.Summary
	switch m.Kind() {
	case metrics.KindTimer:
		key = "timer_" + m.Name() + "_ns"
		wantInt64 = value.(int64)
	case metrics.KindCounter:
		key = "counter_" + m.Name()
		wantUint64 = value.(uint64)
	case metrics.KindHistogram:
		key = "histogram_" + m.Name()
		v := value.(map[string]any)
		wantSummary = metrics.Summary{
			Count: v["count"].(int64), Min: v["min"].(int64), Max: v["max"].(int64),
			Mean: v["mean"].(float64), StdDev: v["stddev"].(float64), Median: v["median"].(float64),
			P75: v["75%"].(float64), P90: v["90%"].(float64), P95: v["95%"].(float64),
			P99: v["99%"].(float64), P999: v["99.9%"].(float64), P9999: v["99.99%"].(float64),
		}
	default:
		key = m.Name()
	}
	if m.Key() != key {
		t.Errorf("the key of %v %q is %q", m.Kind(), m.Name(), m.Key())
	}
	if m.Int64() != wantInt64 || m.Uint64() != wantUint64 || m.Summary() != wantSummary {
		t.Errorf("%q has Int64 %v, Uint64 %v, Summary %v; All has %v", key, m.Int64(), m.Uint64(), m.Summary(), value)
	}
}

// TestZeroMetric: the zero Metric is of no kind, and all else of it is zero.
func TestZeroMetric(t *testing.T) {
	var m metrics.Metric
	checkMetric(t, m, nil)
	if m.Kind() != metrics.KindOther || m.Name() != "" || m.Value() != nil {
		t.Errorf("kind %v, name %q, value %v", m.Kind(), m.Name(), m.Value())
	}
}

// TestEachOfOtherImplementation names the kinds of what is reported.
func TestEachOfOtherImplementation(t *testing.T) {
	got := map[string]string{}
	for m := range metrics.Each(foreign{}) {
		got[m.Key()] = m.Kind().String() + " " + m.Name()
	}
	want := map[string]string{
		"timer_t_ns":    "timer t",
		"counter_c":     "counter c",
		"histogram_h":   "histogram h",
		"histogram_odd": "other histogram_odd",
		"timer_text_ns": "other timer_text_ns",
		"timer_x":       "other timer_x",
		"counter_int":   "other counter_int",
		"gauge_g":       "other gauge_g",
		"nothing":       "other nothing",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the kinds and names are %q, want %q", got, want)
	}
}
