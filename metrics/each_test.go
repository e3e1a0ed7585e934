// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regometer/regometer/metrics"
)

// foreign is another implementation. Some entries of its All do not have the
// form of a metric.
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

// TestEach checks what Each yields for our implementation and for another.
func TestEach(t *testing.T) {
	want := map[string]string{
		"timer_t_ns":    "timer t 300 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"counter_c":     "counter c 0 400 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"histogram_h":   "histogram h 0 0 {3 1 4 2.3333333333333335 1.247219128924647 2 4 4 4 4 4 4}",
		"histogram_odd": "other histogram_odd 0 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"timer_text_ns": "other timer_text_ns 0 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"timer_x":       "other timer_x 0 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"counter_int":   "other counter_int 0 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"gauge_g":       "other gauge_g 0 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
		"nothing":       "other nothing 0 0 {0 0 0 0 0 0 0 0 0 0 0 0}",
	}
	check := func(name string, m metrics.Metrics) {
		all, yielded := m.All(), 0
		for metric := range metrics.Each(m) {
			yielded++
			got := fmt.Sprint(metric.Kind(), " ", metric.Name(), " ", metric.Int64(), " ", metric.Uint64(), " ", metric.Summary())
			if got != want[metric.Key()] || !reflect.DeepEqual(metric.Value(), all[metric.Key()]) {
				t.Errorf("%s: %q is %s, value %v, want %s, value %v",
					name, metric.Key(), got, metric.Value(), want[metric.Key()], all[metric.Key()])
			}
		}
		if yielded != len(all) {
			t.Errorf("%s: Each yields %d metrics, All has %d", name, yielded, len(all))
		}
	}
	synctest.Test(t, func(*testing.T) {
		m := metrics.New()
		m.Timer("t").Start()
		time.Sleep(300)
		m.Timer("t").Stop()
		m.Counter("c").Add(400)
		for _, v := range []int64{1, 2, 4} {
			m.Histogram("h").Update(v)
		}
		check("New", m)
	})
	check("foreign", foreign{})
	check("NoOp", metrics.NoOp())
	for range metrics.Each(nil) {
		t.Error("Each yields a metric of nil")
	}
}

func TestEachEndsEarly(t *testing.T) {
	many := metrics.New()
	for _, name := range oddNames {
		many.Counter(name)
		many.Histogram(name)
	}
	for _, m := range []metrics.Metrics{many, foreign{}} {
		for most := 1; most < len(m.All()); most++ {
			n := 0
			for range metrics.Each(m) {
				if n++; n == most {
					break
				}
			}
			if n != most {
				t.Errorf("after a break at metric %d, Each yielded %d", most, n)
			}
		}
	}
}

func TestZeroMetric(t *testing.T) {
	var m metrics.Metric
	if m.Kind() != metrics.KindOther || m.Name() != "" || m.Key() != "" || m.Value() != nil || m.Int64() != 0 || m.Uint64() != 0 ||
		m.Summary() != (metrics.Summary{}) {
		t.Errorf("%#v", m)
	}
}
