// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
	"time"
)

// A clock that goes back adds nothing. Without its sign, the difference would
// be 292 years.
func TestStopAfterClockWentBack(t *testing.T) {
	var tm timer
	tm.state.Store(uint64(now()+int64(time.Minute)) | running)
	if d := tm.Stop(); d != 0 || tm.Int64() != 0 {
		t.Errorf("Stop returned %d, and the timer holds %d", d, tm.Int64())
	}
}
