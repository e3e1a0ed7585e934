// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package step replaces sync/atomic and time in the copy of timer.go that the
// program beside it runs. Each atomic operation is a step. The program decides
// which goroutine takes the next step.
package step

// Next is called before each step. It returns when the goroutine may take the
// step.
var Next func()

// Count is the number of steps so far. It is also the clock. A goroutine reads
// the clock right after its previous step.
var Count int64

type Uint64 struct{ v uint64 }

func (x *Uint64) Load() uint64 {
	Next()
	return x.v
}

func (x *Uint64) Store(v uint64) {
	Next()
	x.v = v
}

func (x *Uint64) CompareAndSwap(old, new uint64) bool {
	Next()
	if x.v != old {
		return false
	}
	x.v = new
	return true
}

type Int64 struct{ v int64 }

func (x *Int64) Load() int64 {
	Next()
	return x.v
}

func (x *Int64) Store(v int64) {
	Next()
	x.v = v
}

func (x *Int64) CompareAndSwap(old, new int64) bool {
	Next()
	if x.v != old {
		return false
	}
	x.v = new
	return true
}

type (
	Time     struct{}
	Duration int64
)

func Now() Time { return Time{} }

func Since(Time) Duration { return Duration(Count) }
