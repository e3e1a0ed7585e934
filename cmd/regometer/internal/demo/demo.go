// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package demo runs an OPA server that has the drop-in metrics package and the
// plugin, sends it queries, and reports what its decision log,
// /metrics and its own runtime metrics say, beside an unmodified OPA.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/regometer/regometer/report"
)

// Config says what to run. Every field but Keep and Table is required.
type Config struct {
	// Build returns the path of an OPA binary, with the drop-in or unmodified.
	// It may write its progress.
	Build func(ctx context.Context, unmodified bool, progress io.Writer) (string, error)

	Policy   fs.FS         // the example policy
	Duration time.Duration // about how long each server is kept busy
	Seed     uint64        // of the workload
	Compare  bool          // run the unmodified OPA too
	Keep     string        // folder for the decision logs and the report; "" = keep nothing
	JSON     bool          // report as JSON instead of text

	Table  report.TableOptions // how the log's report is written; all but Top
	Stdout io.Writer           // the report
	Stderr io.Writer           // progress
}

// The names of the two sides in messages.
const (
	sideDropIn     = "OPA with the drop-in"
	sideUnmodified = "unmodified OPA"
)

// Run runs the demo. When ctx ends it stops the servers, reports what there is,
// and returns the context's error. It leaves nothing behind but what Keep asks
// for.
func Run(ctx context.Context, c Config) (err error) {
	if c.Duration <= 0 {
		return fmt.Errorf("the duration must be greater than 0, not %v", c.Duration)
	}
	dir, cleanUp, err := outputFolder(c.Keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanUp()) }()

	progress := startProgress(c.Stderr)
	run := &run{Config: c, dir: dir, progress: progress, dropIn: newTally(), workload: newWorkload(c.Seed)}
	runErr := run.measure(ctx)
	progress.stop()

	if run.dropIn.requests == 0 {
		if ctx.Err() != nil {
			fmt.Fprintln(c.Stderr, "Interrupted before a query was sent: there is nothing to report.")
		}
		return runErr
	}
	result, err := run.result(context.WithoutCancel(ctx), runErr)
	if err != nil {
		return errors.Join(runErr, err)
	}
	if err := result.write(c.Stdout, c.JSON, c.Table); err != nil {
		return errors.Join(runErr, err)
	}
	if c.Keep != "" {
		if err := result.keep(dir); err != nil {
			return errors.Join(runErr, err)
		}
		fmt.Fprintf(c.Stderr, "Kept in %s: the policy, the servers' output with their decision logs, and the report.\n", c.Keep)
	}
	if runErr != nil {
		return runErr
	}
	return result.consistent()
}

// outputFolder returns the folder for all files, and what to do with it in the
// end. A folder that is kept must be empty or not exist yet.
func outputFolder(keep string) (dir string, cleanUp func() error, err error) {
	if keep == "" {
		dir, err = os.MkdirTemp("", "regometer-demo-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	_, err = os.Stat(keep)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(keep, 0o777); err != nil {
		return "", nil, fmt.Errorf("cannot keep the output there: %w", err)
	}
	entries, err := os.ReadDir(keep)
	if err != nil {
		return "", nil, err
	}
	if len(entries) > 0 {
		return "", nil, fmt.Errorf("%s is not empty: name a new or an empty folder to keep the output in", keep)
	}
	return keep, func() error {
		if isNew {
			_ = os.Remove(keep) // fails if there is something in it, as it should be
		}
		return nil
	}, nil
}

// The files in the output folder.
const (
	policyFolder      = "policy"
	dropInLogFile     = "drop-in.jsonl"
	unmodifiedLogFile = "unmodified.jsonl"
)

// run is one run of the demo.
type run struct {
	Config
	dir      string
	progress *progress
	workload *workload

	version string // of OPA
	dropIn  *tally
	rounds  []round
	scraped *scrape // nil if the run ended early
}

// measure builds, starts and loads the servers. What it has measured when it
// fails is in r.
func (r *run) measure(ctx context.Context) error {
	r.progress.printf("Building OPA with the drop-in and the plugin (minutes at first, seconds later)")
	dropInBinary, err := r.Build(ctx, false, r.progress)
	if err != nil {
		return err
	}
	unmodifiedBinary := ""
	if r.Compare {
		r.progress.printf("Building the unmodified OPA")
		if unmodifiedBinary, err = r.Build(ctx, true, r.progress); err != nil {
			return err
		}
	}

	directory, err := startDirectory()
	if err != nil {
		return fmt.Errorf("cannot listen on 127.0.0.1: %w", err)
	}
	defer directory.stop()
	policy := filepath.Join(r.dir, policyFolder)
	if err := writePolicy(policy, r.Policy, directory.url); err != nil {
		return err
	}

	r.progress.printf("Starting on 127.0.0.1")
	dropIn, err := startServer(ctx, sideDropIn, dropInBinary, policy, filepath.Join(r.dir, dropInLogFile), pluginSettings...)
	if err != nil {
		return err
	}
	defer dropIn.stop()
	r.version = dropIn.Version
	if r.Compare {
		unmodified, startErr := startServer(ctx, sideUnmodified, unmodifiedBinary, policy, filepath.Join(r.dir, unmodifiedLogFile))
		if startErr != nil {
			return startErr
		}
		defer unmodified.stop()
		err = r.loadBoth(ctx, dropIn, unmodified)
	} else {
		err = r.load(ctx, dropIn)
	}
	if err != nil {
		return err
	}
	r.scraped, err = dropIn.scrape(ctx)
	return err
}

// pluginSettings turn the plugin on, as a configuration file would. OPA goes on
// logging to its console: the same decisions, for the report and the exact
// percentiles.
var pluginSettings = []string{"plugins.regometer.namespace=opa"}

// load sends queries to one server.
func (r *run) load(ctx context.Context, dropIn *server) error {
	r.progress.printf("Sending queries for about %v", r.Duration)
	for start := time.Now(); time.Since(start) < r.Duration; {
		if err := dropIn.send(ctx, r.workload.blocks(1), r.dropIn); err != nil {
			return err
		}
	}
	return nil
}

// writePolicy puts the policy, without its tests, into a new folder, with the
// directory's address among its data.
func writePolicy(folder string, policy fs.FS, directoryURL string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	files, err := fs.ReadDir(policy, ".")
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), "_test.rego") {
			continue
		}
		content, err := fs.ReadFile(policy, file.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file.Name()), content, 0o666); err != nil {
			return err
		}
	}
	data, err := json.Marshal(map[string]any{"directory": map[string]string{"url": directoryURL}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "directory.json"), data, 0o666)
}
