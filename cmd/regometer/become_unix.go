// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// become replaces this process with the program at path. It returns only an
// error: the program cannot run, or a signal came first.
func become(ctx context.Context, path string, argv []string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("running %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}
