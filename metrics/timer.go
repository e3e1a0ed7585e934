// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"sync/atomic"
	"time"
)

// base is when the program started. Times are kept as nanoseconds since then,
// of the monotonic clock: reading that costs less than time.Now, which reads
// the wall clock too.
var base = time.Now()

// now returns the time since base. In a testing/synctest bubble, whose clock
// starts in the year 2000, it is negative.
func now() int64 { return int64(time.Since(base)) }

// cell holds the numbers of a timer or a counter, so that either can be in any
// place of a collection.
type cell struct {
	// start is when a running timer was started, with its sign bit flipped:
	// 0 is a stopped timer then, and the one time that would look the same
	// is 292 years before base.
	start atomic.Int64
	// value is the time accumulated, or the count.
	value atomic.Int64
}

// timer is a cell used as a timer. Its cost is one store to start, one swap
// and one addition to stop, and a clock reading each. The swap lets exactly one
// of several concurrent calls of Stop have the time since Start.
type timer cell

func (t *timer) Start() { t.start.Store(now() ^ math.MinInt64) }

func (t *timer) Stop() int64 {
	if t.start.Load() == 0 {
		return 0
	}
	end := now()
	start := t.start.Swap(0)
	if start == 0 { // another Stop was faster
		return 0
	}
	// A Start of another goroutine may have come after the clock was read.
	delta := max(end-(start^math.MinInt64), 0)
	t.value.Add(delta)
	return delta
}

func (t *timer) Value() any { return t.Int64() }

func (t *timer) Int64() int64 { return t.value.Load() }
