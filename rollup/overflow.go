// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"sync/atomic"

	"github.com/regometer/regometer/internal/stages"
)

// Overflow counts what had no label of its own for lack of room, and what was
// left out. It went to path Other, stage Other or counter Other.
type Overflow struct {
	Paths    uint64 // decisions whose path got no label, or one that it shares
	Stages   uint64 // timers whose stage got no label
	Counters uint64 // by how much counters without a label were raised

	// Invalid counts the values of timers and counters that were ignored: those
	// that are no integers of 64 bits, and negative counters.
	Invalid uint64
}

// overflow is an Overflow to which any goroutine may add.
type overflow struct{ counts [4]atomic.Uint64 }

func (o *Overflow) fields() [4]*uint64 {
	return [...]*uint64{&o.Paths, &o.Stages, &o.Counters, &o.Invalid}
}

// name counts a timer, or n of a counter, that has no label for lack of room.
func (o *Overflow) name(k stages.Kind, n int64) {
	if k == stages.Counter {
		o.Counters += uint64(n)
	} else {
		o.Stages++
	}
}

func (t *overflow) add(o *Overflow) {
	for i, n := range o.fields() {
		if *n > 0 {
			t.counts[i].Add(*n)
		}
	}
}

func (t *overflow) load() (o Overflow) {
	for i, n := range o.fields() {
		*n = t.counts[i].Load()
	}
	return o
}
