// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench has the benchmarks of docs/performance.md that compare two
// sides. They import OPA's package v1/metrics, and command benchtable builds
// them twice: with OPA as it is, and with the drop-in in its place. So both
// sides have the same names, and benchstat compares them by file.
package bench

import (
	"fmt"
	"math/rand/v2"
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
