// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// Policy has the rule rbac.allow and its data. The embedded decision and the
// servers evaluate it.
//
//go:embed rbac.rego data.json
var Policy embed.FS

// Input is a request that the policy allows.
const Input = `{"user": "alice", "roles": ["editor"], "action": "update"}`

const (
	// rotationSize is the number of collections that a benchmark of summaries
	// takes in turns. With a single collection the branch predictor would learn
	// its order, and sorting would look three to five times as fast.
	rotationSize = 16

	// growth limits the values that a histogram gains before a benchmark that
	// updates it builds its collections again, outside the timed region.
	// Without this limit the faster side would do more iterations and end up
	// with larger histograms than the slower side. Histograms have as many
	// values at the start. So each update pays the same share of the memory for
	// more values as in a histogram that goes on growing.
	growth = 100

	// reservoirSize is the number of values that a histogram samples.
	reservoirSize = 1028
)

// Names returns n names that no compiler has seen. format must have one %d.
// Every call makes new strings, so equal names of two calls have different
// addresses.
func Names(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

// Values returns n scattered values, the same for the same seed. All are above
// 255, because Go does not allocate for smaller values in an interface.
func Values(seed uint64, n int) []int64 {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	values := make([]int64, n)
	for i := range values {
		values[i] = 256 + r.Int64N(10_000_000)
	}
	return values
}

// Spread runs loop on several goroutines, b.N iterations in all.
func Spread(b *testing.B, goroutines int, loop func(iterations int)) {
	b.ReportAllocs()
	b.ResetTimer()
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
