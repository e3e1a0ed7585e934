// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regometer/regometer/metrics"
)

const sampleSize = 1028

// TestSampleAfterIdleTime checks that new values replace old ones after any
// time without updates.
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
