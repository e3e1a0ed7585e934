// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"sync/atomic"
	"time"
)

// base is the time at which the program started. Times are nanoseconds of the
// monotonic clock since base. Most of a timer's cost is two clock readings.
// time.Since(base) costs about half as much as time.Now, which also reads the
// wall clock.
var base = time.Now()

// now returns the time since base. In a testing/synctest bubble, whose clock
// starts in the year 2000, it is negative.
func now() int64 { return int64(time.Since(base)) }

// cell holds the numbers of a timer or of a counter, so that any place in a
// collection can hold either.
type cell struct {
	// state is the state of a timer. While the timer runs, it holds the bit
	// running and the time of Start. Otherwise it holds the accumulated time.
	// Both times lack their highest bit. after computes it from an earlier
	// time.
	state atomic.Uint64
	// value is the count of a counter. For a timer it is the time accumulated
	// up to the last Start. The next Start may already have raised it.
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

// timer is a [cell] used as a timer. Start and Stop read the clock once each.
// Stop makes one compare-and-swap of the state, which both ends the run and
// adds its time. Start makes one compare-and-swap of the state too. If there is
// accumulated time, Start first saves it in the value with another
// compare-and-swap.
type timer cell

// after returns the first time from t on whose lower 63 bits equal those of
// state. It is at most 292 years after t.
func after(t int64, state uint64) int64 {
	return t + int64((state-uint64(t))&^running)
}

func (t *timer) Start() {
	for {
		// Read the value first, so that it is not newer than the state. If
		// another Start saves the time in between, the swap fails, because
		// the value only grows.
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
			return // another Start came a moment later
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
		return t.value.Load() // as old as the state, or newer
	}
	return after(value, state)
}
