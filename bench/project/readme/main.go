// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Readme writes the table of measurements in README.md from those in
// docs/performance.md. It runs in the repository's root.
package main

import (
	"fmt"
	"os"

	"github.com/regometer/regometer/bench/project"
)

func main() {
	if err := project.UpdateReadme("."); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}
