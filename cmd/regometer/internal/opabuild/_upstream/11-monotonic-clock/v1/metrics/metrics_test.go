// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "testing/synctest"

// The clock of a synctest bubble starts before the program did.
func TestMetricsTimerInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := New().Timer("foo")
		timer.Start()
		time.Sleep(time.Minute)
		if got := timer.Int64(); got != 0 {
			t.Errorf("Expected a running timer to have no time, got %v", got)
		}
		if got := timer.Stop(); got != time.Minute.Nanoseconds() {
			t.Errorf("Expected Stop to return a minute, got %v", got)
		}
		time.Sleep(time.Minute)
		if got := timer.Stop(); got != 0 {
			t.Errorf("Expected another Stop to return 0, got %v", got)
		}
		timer.Start()
		time.Sleep(time.Second)
		timer.Stop()
		if got := timer.Int64(); got != (time.Minute + time.Second).Nanoseconds() {
			t.Errorf("Expected both runs to be added up, got %v", got)
		}
	})
}
