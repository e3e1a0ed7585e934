// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure runs programs, for the commands that measure and release.
package measure

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Run runs a program in the folder dir and returns its standard output. It adds
// env to the environment, and copies standard error to progress at once. If the
// program fails, the error has all its output.
func Run(ctx context.Context, progress io.Writer, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, io.MultiWriter(&stderr, progress)
	cmd.Env = append(os.Environ(), env...)
	// An interrupted program can stop its own children and tidy up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s (in %s): %w\n%s%s", cmd, dir, err, &stderr, &stdout)
	}
	return stdout.String(), nil
}

// Main runs a program until it ends or an interrupt stops it. If the program
// fails, Main ends the process with status 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
