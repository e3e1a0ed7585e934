// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// cost is what a process took.
type cost struct {
	time   time.Duration // from start to exit
	memory int64         // the most that was resident, in bytes; 0 if not known
}

// execute runs a command that prints to stdout, which is a file or nil.
//
// Linux counts as a process's resident memory also what its parent had resident
// when it started it, since until then both are one. So nothing large may ever
// be in the memory of this one.
func execute(ctx context.Context, stdout io.Writer, command ...string) (cost, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	passed := time.Since(start)
	if err != nil {
		return cost{}, fmt.Errorf("%q: %w\n%s", command, err, &stderr)
	}
	return cost{passed, maxResident(cmd.ProcessState)}, nil
}
