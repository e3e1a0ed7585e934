// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command reportbench measures `regometer report` beside DuckDB, jq, a plain Go
// program and the decompression libraries, on decision logs that it writes. It
// prints its figures in the format of go test -bench; benchtable runs it, and
// makes tables of them.
//
// It is a program of its own, and small, since the system counts the memory of
// whoever starts a process as that process's own (see execute).
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const usage = `Usage: reportbench -bin FOLDER [flags]

FOLDER has the programs regometer, plainreport and decompress, and its folder
purego a regometer without assembly: in the repository's root,
  go build -o FOLDER/ ./cmd/regometer ./bench/cmd/plainreport ./bench/cmd/decompress
  go build -tags purego -o FOLDER/purego/ ./cmd/regometer

DuckDB is the program that REGOMETER_DUCKDB names, else duckdb in PATH; jq is
that in PATH. Without them their figures are left out.

Flags:
`

// options are what the flags say.
type options struct {
	bin, tmp string // folders
	runs     int
	size     int64 // of the text of a log, in bytes
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "reportbench:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("reportbench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	f.StringVar(&o.bin, "bin", "", "folder of the programs")
	f.StringVar(&o.tmp, "work", "", "folder in which to write and remove logs (default: that for temporary files)")
	f.IntVar(&o.runs, "runs", 10, "how often everything is measured")
	megabytes := f.Int64("size", 2000, "how large a log is, in MB, before compression: at most 2500, so that its exact quantiles are known")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q (see -help)", f.Arg(0))
	case o.bin == "":
		return o, errors.New("-bin is missing (see -help)")
	case o.runs < 1:
		return o, errors.New("-runs must be at least 1")
	case *megabytes < 1 || *megabytes > 2500:
		return o, errors.New("-size must be from 1 to 2500")
	}
	o.size = *megabytes * 1e6
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.tmp, "reportbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	start := time.Now()
	b := &bench{options: o, work: work, out: stdout, progress: func(format string, args ...any) {
		fmt.Fprintf(stderr, "%6s  report: %s\n", time.Since(start).Round(time.Second), fmt.Sprintf(format, args...))
	}}
	if err := b.findRivals(ctx); err != nil {
		return err
	}
	for _, c := range cases {
		if err := b.measure(ctx, c); err != nil {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// bench is a run of the program.
type bench struct {
	options
	work       string // where the logs are
	out        io.Writer
	progress   func(format string, args ...any)
	duckdb, jq string // programs, or ""
}

func (b *bench) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(b.bin, name)
}

// findRivals looks for the programs that are not ours, and prints their
// versions and commands as lines of configuration.
func (b *bench) findRivals(ctx context.Context) error {
	b.duckdb = os.Getenv("REGOMETER_DUCKDB")
	for name, program := range map[string]*string{"duckdb": &b.duckdb, "jq": &b.jq} {
		if *program == "" {
			*program, _ = exec.LookPath(name)
		}
		version := "none"
		if *program != "" {
			out, err := exec.CommandContext(ctx, *program, "--version").Output()
			if err != nil {
				return fmt.Errorf("%s --version: %w", *program, err)
			}
			version = strings.TrimSpace(string(out))
		} else {
			b.progress("skipped %s: it is not in PATH", name)
		}
		fmt.Fprintf(b.out, "%s: %s\n", name, version)
	}
	info, err := buildinfo.ReadFile(b.program("decompress"))
	if err != nil {
		return err
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/klauspost/compress" {
			fmt.Fprintf(b.out, "compress: %s %s\n", module.Path, module.Version)
		}
	}
	fmt.Fprintf(b.out, "sql: %s\njqfilter: %s\n", query("THREADS", "FILE"), jqFilter)
	return nil
}
