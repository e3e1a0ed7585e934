// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"fmt"
	"os"
)

// Main runs the tests of a package that starts no goroutine, unless under the
// race detector, which would take minutes to find nothing. It is called by
// TestMain, with its testing.M.
func Main(m interface{ Run() int }) {
	if Enabled {
		fmt.Println("not run under the race detector: the package starts no goroutine")
		return
	}
	os.Exit(m.Run())
}
