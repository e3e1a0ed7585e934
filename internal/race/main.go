// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"fmt"
	"os"
)

// Main runs the tests of a package that starts no goroutine. Under the race
// detector it skips them, because they would take minutes and could find
// nothing. TestMain calls it with its testing.M.
func Main(m interface{ Run() int }) {
	if Enabled {
		fmt.Println("skipped under the race detector: the package starts no goroutine")
		return
	}
	os.Exit(m.Run())
}
