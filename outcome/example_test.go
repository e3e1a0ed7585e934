// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"fmt"

	"github.com/regometer/regometer/outcome"
)

func Example() {
	counts := map[outcome.Outcome]int{}
	for _, o := range []outcome.Outcome{outcome.Allowed, outcome.Denied, outcome.Allowed, outcome.Failed} {
		counts[o]++
	}
	fmt.Println(counts[outcome.Allowed], outcome.Allowed)
	fmt.Println(counts[outcome.Failed], outcome.Failed)
	// Output:
	// 2 allowed
	// 1 error
}
