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
	// state is that of a timer: while it runs, the bit running and the time
	// of Start; while it does not, the time accumulated. The highest bit of
	// either is left out: it follows from a time less than 292 years before.
	state atomic.Uint64
	// value is the count of a counter. Of a timer it is the time accumulated
	// up to the last Start, or what is saved there by the next.
	value atomic.Int64
}

const running = 1 << 63

// number returns the count of a counter or the time of a timer.
func (c *cell) number(kind Kind) int64 {
	if kind == KindTimer {
		return (*timer)(c).Int64()
	}
	return c.value.Load()
}

// timer is a [cell] used as a timer. To stop it is one compare-and-swap of the
// state, which ends the run and adds its time: no goroutine sees the one
// without the other. To start it is one too, and another that saves the
// accumulated time in the value, unless there is none. And a clock reading
// each.
type timer cell

// after returns the time whose lower 63 bits are those of state, and which is
// t or less than 292 years later.
func after(t int64, state uint64) int64 {
	return t + int64((state-uint64(t))&^running)
}

func (t *timer) Start() {
	for {
		// The value is read first, so that it is not ahead of the state. If
		// another Start saves the time meanwhile the swap fails, since the
		// value only grows.
		value := t.value.Load()
		state := t.state.Load()
		if state&running == 0 {
			if sum := after(value, state); sum != value && !t.value.CompareAndSwap(value, sum) {
				continue
			}
		}
		if t.state.CompareAndSwap(state, uint64(now())|running) {
			return
		}
		if t.state.Load()&running != 0 {
			return // another Start was a moment later
		}
	}
}

func (t *timer) Stop() int64 {
	for {
		state := t.state.Load()
		if state&running == 0 {
			return 0
		}
		value := t.value.Load() // the sum, as the timer runs
		delta := int64((uint64(now()) - state) &^ running)
		if delta > math.MaxInt64-1<<40 {
			delta = 0 // the clock went back
		}
		if t.state.CompareAndSwap(state, uint64(value+delta)&^running) {
			return delta
		}
	}
}

func (t *timer) Value() any { return t.Int64() }

func (t *timer) Int64() int64 {
	value := t.value.Load() // first, as in Start
	state := t.state.Load()
	if state&running != 0 {
		return t.value.Load() // that of the state, or a later one
	}
	return after(value, state)
}
