// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// become replaces this process by the program at path. It returns only if
// that fails.
func become(path string, argv []string) error {
	return fmt.Errorf("running %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}
