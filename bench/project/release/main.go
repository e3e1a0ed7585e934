// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Release makes this repository's modules ready to be published, and builds the
// files of a release. RELEASING.md says when to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
)

const usage = `Usage, in the repository's root:
  go run ./bench/project/release prepare VERSION        build all modules as published, and write their go.mod and go.sum files
  go run ./bench/project/release dist [flags] VERSION   build the files of VERSION into dist/VERSION

The command dist replaces the folder dist/VERSION once all files are built. They
are archives with regometer and OPA for each platform, bills of materials in
CycloneDX's JSON, SHA256SUMS and a README.md. dist also runs the programs for this
platform. All platforms take about half an hour on two cores.

`

func main() {
	measure.Main("release", func(ctx context.Context) error { return release(ctx, os.Args[1:], os.Stderr) })
}

func release(ctx context.Context, args []string, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	list := flags.String("platforms", "", "build only for these `platforms`, such as linux/amd64,windows/arm64; default all")
	dirty := flags.Bool("dirty", false, "build from a checkout with changes")
	command, platforms := "", project.Platforms
	if len(args) > 0 {
		command = args[0]
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
	}
	if command != "prepare" && command != "dist" || flags.NArg() != 1 {
		flags.Usage()
		return errors.New("name a command and one version")
	}
	version := flags.Arg(0)
	if *list != "" {
		platforms = strings.Split(*list, ",")
	}
	for _, p := range platforms {
		if !slices.Contains(project.Platforms, p) {
			return fmt.Errorf("invalid platform %q: use some of %v", p, project.Platforms)
		}
	}
	var commit string
	if command == "dist" {
		if commit, err = findCommit(ctx, ".", *dirty); err != nil {
			return err
		}
	}
	r, err := project.NewRelease(ctx, ".", version, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if command == "dist" {
		return dist(ctx, r, commit, platforms, stderr)
	}
	if err := r.Build(); err != nil {
		return err
	}
	if err := r.Apply(); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "go.mod and go.sum of %d modules are those of %s now\n", len(r.Modules), version)
	return nil
}
