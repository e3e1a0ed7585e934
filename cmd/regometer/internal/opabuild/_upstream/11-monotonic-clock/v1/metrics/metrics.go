// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"time"
)

// programStart is the origin of the times below. Reading the time since then
// takes about half as long as time.Now, which also reads the time of day.
var programStart = time.Now()

// elapsed returns the time since the program started. It is never 0, the start
// of a timer that does not run.
func elapsed() time.Duration {
	if d := time.Since(programStart); d != 0 {
		return d
	}
	return 1
}

type timer struct {
	mtx   sync.Mutex
	start time.Duration // since the program started
	value int64
}

func (t *timer) Start() {
	t.mtx.Lock()
	t.start = elapsed()
	t.mtx.Unlock()
}

func (t *timer) Stop() int64 {
	t.mtx.Lock()
	defer t.mtx.Unlock()

	var delta int64
	if t.start != 0 {
		// Add the delta to the accumulated time value so far.
		delta = (elapsed() - t.start).Nanoseconds()
		t.value += delta
		t.start = 0 // Reset the start time to zero.
	}

	return delta
}
