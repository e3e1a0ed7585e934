// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"text/tabwriter"
	"time"
)

// A result is what fuzzing a target came to.
type result struct {
	target      target
	elapsed     time.Duration
	executions  int
	interesting int // inputs that reached something new
	findings    int
	tolerated   bool // it ended by Go's flaw, see deadlineFlaw
}

// fuzzAll fuzzes each target for some time, or all of them for total, and
// prints the table. Findings in one target do not keep the next from being
// fuzzed.
func fuzzAll(ctx context.Context, targets []target, b *binaries, each, total time.Duration, stdout io.Writer) error {
	var results []result
	var failed error
	left := total
	for i, t := range targets {
		if total > 0 {
			each = left / time.Duration(len(targets)-i)
		}
		r, err := fuzz(ctx, t, b, each, stdout)
		if ctx.Err() != nil && r.elapsed == 0 {
			break // it has not begun
		}
		left -= r.elapsed
		results = append(results, r)
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	findings := printResults(stdout, results, len(targets))
	if findings > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d findings: see above, and commit the new files in testdata/fuzz with the fix", findings))
	}
	return failed
}

// fuzz fuzzes one target. The error is of what kept it from being fuzzed.
func fuzz(ctx context.Context, t target, b *binaries, limit time.Duration, stdout io.Writer) (result, error) {
	r := result{target: t}
	fmt.Fprintf(stdout, "%s, %v\n", t, limit)
	binary, err := b.of(ctx, t.dir, "-fuzz=.") // with what guides the fuzzer
	if err != nil {
		return r, fmt.Errorf("%s: %w", t, err)
	}
	cache, err := cacheOf(ctx, t.pkg)
	if err != nil {
		return r, err
	}
	before, err := filesIn(t.corpus())
	if err != nil {
		return r, err
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzzcachedir="+cache,
		"-test.fuzztime="+limit.String(),
		// Go would try for a minute to make each input smaller that is new by
		// chance.
		"-test.fuzzminimizetime=20x")
	cmd.Dir = t.dir
	cmd.Stdout = io.MultiWriter(stdout, &output)
	cmd.Stderr = cmd.Stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it writes what it found
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	failed := cmd.Run()
	r.elapsed = time.Since(start)
	r.executions, r.interesting = statistics(output.Bytes())
	after, err := filesIn(t.corpus())
	if err != nil {
		return r, err
	}
	for name := range after {
		if _, old := before[name]; !old {
			r.findings++
			fmt.Fprintf(stdout, "finding: %s\n", filepath.Join(t.corpus(), name))
		}
	}
	if failed != nil && ctx.Err() == nil && r.findings == 0 {
		r.tolerated = r.elapsed >= limit && deadlineFlaw(t.name, output.Bytes())
		if !r.tolerated {
			r.findings = 1 // without a file, such as a seed that fails
			fmt.Fprintf(stdout, "finding: %s: %v\n", t, failed)
		}
	}
	return r, nil
}

var statisticsLine = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, execs: (\d+) .*new interesting: (\d+) `)

// statistics returns what the last line of this kind says.
func statistics(output []byte) (executions, interesting int) {
	if found := statisticsLine.FindAllSubmatch(output, -1); found != nil {
		last := found[len(found)-1]
		executions, _ = strconv.Atoi(string(last[1])) // digits
		interesting, _ = strconv.Atoi(string(last[2]))
	}
	return executions, interesting
}

var progressLine = regexp.MustCompile(`(?m)^fuzz: elapsed: .*\n`)

// deadlineFlaw reports whether a test failed by nothing but a flaw of Go before
// 1.27 (https://go.dev/issue/75804): now and then the fuzzer takes the end of
// -fuzztime, which is a context's deadline, for a failure. Its output has then
// nothing but progress and the words below; a finding has at least the failing
// input's own "--- FAIL". An input that was found at the last moment may be
// missing from the output, but not from testdata/fuzz: look there first.
func deadlineFlaw(name string, output []byte) bool {
	rest := progressLine.ReplaceAll(output, nil)
	pattern := `^--- FAIL: ` + regexp.QuoteMeta(name) + ` \(\d+\.\d+s\)\n    context deadline exceeded\nFAIL\n$`
	return regexp.MustCompile(pattern).Match(rest)
}

// printResults prints the table, and returns how many findings there are.
func printResults(w io.Writer, results []result, targets int) (findings int) {
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "executions\tnew interesting\tfindings\ttime\t  target")
	var sum result
	tolerated := 0
	row := func(r result, name string) {
		fmt.Fprintf(table, "%d\t%d\t%d\t%v\t  %s\n", r.executions, r.interesting, r.findings, r.elapsed.Round(time.Second), name)
	}
	for _, r := range results {
		row(r, r.target.String())
		sum.elapsed += r.elapsed
		sum.executions += r.executions
		sum.interesting += r.interesting
		sum.findings += r.findings
		if r.tolerated {
			tolerated++
		}
	}
	row(sum, fmt.Sprintf("%d of %d targets", len(results), targets))
	table.Flush()
	if tolerated > 0 {
		fmt.Fprintf(w, "%d ended by \"context deadline exceeded\", a flaw of Go and no finding: https://go.dev/issue/75804\n", tolerated)
	}
	return sum.findings
}
