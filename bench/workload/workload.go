// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package workload holds what the benchmarks of both sides share: names,
// values and the way in which a loop is spread over goroutines.
package workload

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

const (
	// Rotation is the number of collections that a benchmark of summaries
	// takes in turns. The branch predictor learns how to sort a single one,
	// which flatters sorting three to five times.
	Rotation = 16

	// Growth is the number of values that a histogram may gain before a
	// benchmark that updates it builds its collections anew, outside the
	// timed region. Without it the faster side would do more iterations and
	// end up with larger histograms than the slower one. It is as many as
	// they have at the start, so that the memory for more values is shared
	// out over as many updates as in a histogram that goes on growing.
	Growth = 100

	// ReservoirSize is the number of values that a histogram samples.
	ReservoirSize = 1028
)

// Case is one operation on one side.
type Case struct {
	// Run measures the operation, on that many goroutines.
	Run func(b *testing.B, goroutines int)
	// Result returns what the operation gives: the sides must agree on it.
	Result func() any
}

// Names returns n names that no compiler has seen: format must have one %d.
// Every call makes new strings, so equal names of two calls have different
// addresses.
func Names(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

// Values returns n scattered values, the same for the same seed. All are
// above 255, since Go puts smaller ones into an interface for free.
func Values(seed uint64, n int) []int64 {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	values := make([]int64, n)
	for i := range values {
		values[i] = 256 + r.Int64N(10_000_000)
	}
	return values
}

// Spread runs loop on that many goroutines, b.N iterations in all.
func Spread(b *testing.B, goroutines int, loop func(iterations int)) {
	if goroutines == 1 {
		loop(b.N)
		return
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		n := b.N / goroutines
		if g < b.N%goroutines {
			n++
		}
		wg.Go(func() { loop(n) })
	}
	wg.Wait()
}
