// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regometer/regometer/metrics"
)

// The sample where other reservoirs go wrong: after a long time without any
// value, and at a great age.

const sampleSize = 1028

// TestSampleAfterIdleTime: after any time without updates, new values are worth
// more than old ones.
func TestSampleAfterIdleTime(t *testing.T) {
	const day = 24 * time.Hour
	for _, idle := range []time.Duration{time.Hour, 13 * time.Hour, 14 * time.Hour, 10 * day, 400 * day, 200 * 365 * day} {
		synctest.Test(t, func(t *testing.T) {
			h := metrics.New().Histogram("h")
			for range 2 * sampleSize {
				h.Update(0)
			}
			time.Sleep(idle)
			for n := range sampleSize {
				h.Update(1)
				if got, want := h.Value().(map[string]any)["mean"], float64(n+1)/sampleSize; got != want {
					t.Fatalf("after %v and %d new values, the mean is %v, want %v", idle, n+1, got, want)
				}
			}
			time.Sleep(time.Hour)
			h.Update(2)
			v := h.Value().(map[string]any)
			if v["max"] != int64(2) || v["min"] != int64(1) || v["count"] != int64(3*sampleSize+1) {
				t.Errorf("after %v, the summary is %v", idle, v)
			}
		})
	}
}

// TestSampleOfLongLife: a histogram that is updated for a year is as good as a
// new one.
func TestSampleOfLongLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := metrics.New().Histogram("h")
		for hour := range int64(365 * 24) {
			for range 10 {
				h.Update(hour)
			}
			time.Sleep(time.Hour)
		}
		// The weight falls by e^54 from hour to hour: only the newest are left.
		v := h.Value().(map[string]any)
		const last = 365*24 - 1
		if v["max"] != int64(last) || v["min"] != int64(last-sampleSize/10) {
			t.Errorf("the sample is from hour %v to %v, want %d to %d", v["min"], v["max"], last-sampleSize/10, last)
		}
	})
}
