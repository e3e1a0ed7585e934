// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"fmt"

	"github.com/regometer/regometer/outcome"
)

func Example() {
	fmt.Println(outcome.Allowed, outcome.Neither, outcome.Failed)
	// Output: allowed result error
}
