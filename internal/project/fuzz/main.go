// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Fuzz runs the fuzz targets of all modules one after the other, or thins the
// inputs that fuzzing has found to a corpus that lasts. CONTRIBUTING.md says
// when to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

const usage = `Usage, in the repository's root: go run ./internal/project/fuzz [flags]

Fuzzes each target for some time, and prints a table. The exit status is 1 if
there are findings; Go writes each as a file below the package's testdata/fuzz.
Ctrl-C ends it with the table so far.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	each := flags.Duration("time", 5*time.Second, "fuzz each target for this `duration`")
	total := flags.Duration("total", 0, "share this `duration` among the targets, instead of -time")
	only := flags.String("run", "", "only the targets that match this `regexp`, such as 'rollup FuzzAdd'")
	thin := flags.Bool("thin", false, "do not fuzz: choose from the inputs that Go has kept in its cache, and from\n"+
		"the kept-* files in testdata/fuzz, those that reach most, and make them the kept-* files")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // flags has told
	}
	wanted, err := regexp.Compile(*only)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "fuzz: -run:", err)
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "fuzz: there are only flags, no %q\n", flags.Arg(0))
		return 2
	case *each <= 0 || *total < 0:
		fmt.Fprintln(stderr, "fuzz: -time and -total must be more than 0")
		return 2
	}
	targets, err := listTargets(ctx, ".")
	if err != nil {
		fmt.Fprintln(stderr, "fuzz:", err)
		return 1
	}
	var chosen []target
	for _, t := range targets {
		if wanted.MatchString(t.String()) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintf(stderr, "fuzz: none of the %d targets matches %q\n", len(targets), *only)
		return 2
	}
	dir, err := os.MkdirTemp("", "regometer-fuzz-")
	if err != nil {
		fmt.Fprintln(stderr, "fuzz:", err)
		return 1
	}
	defer os.RemoveAll(dir)

	b := &binaries{dir: dir, stderr: stderr, path: map[string]string{}}
	if *thin {
		err = thinAll(ctx, chosen, b, stdout)
	} else {
		err = fuzzAll(ctx, chosen, b, *each, *total, stdout)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "fuzz: interrupted")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "fuzz:", err)
		return 1
	}
	return 0
}
