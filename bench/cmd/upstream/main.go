// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Upstream prepares the steps in internal/app/opabuild/_upstream for
// bench/upstream.sh. "upstream DIR" copies the OPA that the series is for to
// DIR. "upstream DIR N" applies step N there, and prints its message.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/regometer/regometer/internal/app/opabuild"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 {
		source, err := opabuild.UpstreamSource(context.Background())
		if err != nil {
			return err
		}
		return os.CopyFS(args[0], os.DirFS(source))
	}
	steps, err := opabuild.Series()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	fmt.Print(steps[n-1].Message)
	return opabuild.ApplySteps(args[0], steps[n-1:n])
}
