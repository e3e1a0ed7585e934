// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"time"
)

// base is when the program started. Reading the time since then costs about
// half of time.Now, which reads the wall clock too.
var base = time.Now()

// elapsed returns the nanoseconds since base. It is never 0, which in a timer
// says that it does not run.
func elapsed() int64 {
	if ns := time.Since(base).Nanoseconds(); ns != 0 {
		return ns
	}
	return 1
}

type timer struct {
	mtx   sync.Mutex
	start int64 // as elapsed returned it
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
		delta = elapsed() - t.start
		t.value += delta
		t.start = 0
	}

	return delta
}
