// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Release checks that this repository's modules can be published, or makes
// them ready for it. RELEASING.md says when to use it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/regometer/regometer/bench/project"
)

const usage = `Usage, in the repository's root:
  go run ./bench/project/release check             build all modules as published, change nothing
  go run ./bench/project/release prepare VERSION   write the go.mod and go.sum files of VERSION
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stderr io.Writer) (status int) {
	version, apply := "v0.0.1-check", false
	switch {
	case len(args) == 1 && args[0] == "check":
	case len(args) == 2 && args[0] == "prepare":
		version, apply = args[1], true
	default:
		fmt.Fprint(stderr, usage)
		return 2
	}
	if err := release(ctx, version, apply, stderr); err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

func release(ctx context.Context, version string, apply bool, progress io.Writer) (err error) {
	r, err := project.NewRelease(ctx, ".", version, progress)
	if err != nil {
		return err
	}
	defer func() {
		if failed := r.Close(); err == nil {
			err = failed
		}
	}()
	if err := r.Build(ctx, progress); err != nil {
		return err
	}
	if apply {
		if err := r.Apply(); err != nil {
			return err
		}
		fmt.Fprintf(progress, "go.mod and go.sum of %d modules are those of %s now\n", len(r.Modules), version)
		return nil
	}
	fmt.Fprintf(progress, "all %d modules can be published\n", len(r.Modules))
	return nil
}
