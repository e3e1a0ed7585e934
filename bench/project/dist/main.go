// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Dist builds what is attached to a release: archives with the binaries of
// regometer and of OPA for all platforms, their bills of materials and
// checksums. RELEASING.md says when to use it.
//
// The same Go and commit give the same bytes, in any folder and on any day.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/regometer/regometer/bench/project"
)

const usage = `Usage, in the repository's root: go run ./bench/project/dist [flags] VERSION

Builds regometer and OPA for the platforms of a release into dist/VERSION:
archives, bills of materials in CycloneDX's JSON, SHA256SUMS, and a README.md
with a table of them. A folder of that name is replaced once all is built.
Binaries for this platform are run, others are not, and the table says which.
All platforms take about half an hour on two cores.

Times in the archives are SOURCE_DATE_EPOCH, in seconds since 1970, or the
commit's.

  go run ./bench/project/dist v0.1.0
  go run ./bench/project/dist -platforms linux/amd64,windows/arm64 v0.0.1-check

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stderr io.Writer) (status int) {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	list := flags.String("platforms", "", "only for these of the platforms, such as linux/amd64,windows/arm64; default all")
	dirty := flags.Bool("dirty", false, "build from a checkout with changes, or of another commit than the version's tag")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // flags has told
	}
	if flags.NArg() != 1 || flags.Arg(0) == "" {
		fmt.Fprintln(stderr, "dist: name one version, such as v0.1.0 (make dist VERSION=v0.1.0)")
		return 2
	}
	platforms, err := project.ParsePlatforms(*list)
	if err != nil {
		fmt.Fprintln(stderr, "dist: -platforms:", err)
		return 2
	}
	d := distribution{root: ".", version: flags.Arg(0), platforms: platforms, dirty: *dirty, progress: timed{stderr, time.Now()}}
	if err := d.make(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; dist is as it was")
		}
		fmt.Fprintln(stderr, "dist:", err)
		return 1
	}
	return 0
}

// timed writes each line with the time since start before it.
type timed struct {
	w     io.Writer
	start time.Time
}

func (t timed) Write(line []byte) (int, error) {
	fmt.Fprintf(t.w, "[%4.0fs] ", time.Since(t.start).Seconds())
	return t.w.Write(line)
}
