// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Release makes this repository's modules ready to be published, and builds the
// programs of a release. RELEASING.md says when to use it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
)

const usage = `name a command and one version, in the repository's root:
  go run ./bench/project/release prepare VERSION              build all modules as published, and write their go.mod and go.sum files
  go run ./bench/project/release dist VERSION [PLATFORM...]   build regometer and OPA into dist/VERSION, by default for all platforms`

func main() {
	measure.Main("release", func(ctx context.Context) error { return release(ctx, os.Args[1:], os.Stderr) })
}

func release(ctx context.Context, args []string, stderr io.Writer) (err error) {
	isDist := len(args) > 1 && args[0] == "dist"
	if !isDist && (len(args) != 2 || args[0] != "prepare") {
		return errors.New(usage)
	}
	platforms := args[2:]
	if len(platforms) == 0 {
		platforms = project.Platforms
	}
	for _, p := range platforms {
		if !slices.Contains(project.Platforms, p) {
			return fmt.Errorf("invalid platform %q: use some of %v", p, project.Platforms)
		}
	}
	r, err := project.NewRelease(ctx, ".", args[1], stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if isDist {
		target := filepath.Join("dist", r.Version)
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		return r.Programs(target, platforms...)
	}
	if err := r.Build(); err != nil {
		return err
	}
	if err := r.Apply(); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "go.mod and go.sum of %d modules are those of %s now\n", len(r.Modules), r.Version)
	return nil
}
