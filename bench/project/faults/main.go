// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Faults puts deliberate faults into the code, one at a time, and reports which
// ones the tests notice. CONTRIBUTING.md says when to run it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

const usage = `Usage, in the repository's root: go run ./bench/project/faults [flags] FILE...

Each file lists faults as blocks that a blank line separates:

  tests: ./exphist/...
  exphist/merge.go: the buckets of the other histogram are not shifted
   a line before, which the fault keeps
  -	a line that the fault removes
  +	a line that the fault adds

A "tests:" line names the packages whose tests must notice the blocks below it.
The lines that a block keeps and removes must occur exactly once in its file. The
files on disk do not change. The exit status is 1 if the tests notice too few
faults.

`

// enough is the least share of the faults, in percent, that the tests must
// notice.
const enough = 90

func main() {
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	only := flag.String("only", "", "only faults whose first line matches this `regexp`")
	flag.Parse()
	measure.Main("faults", func(ctx context.Context) error { return run(ctx, *only, flag.Args()) })
}

func run(ctx context.Context, only string, files []string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var faults []fault
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found, err := parse(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		faults = append(faults, found...)
	}
	dir, err := os.MkdirTemp("", "regometer-faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sound := map[string]bool{} // tests that pass without a fault
	tried, noticed := 0, 0
	for _, f := range faults {
		if !wanted.MatchString(f.title) {
			continue
		}
		if !sound[f.tests] {
			if output, err := test(ctx, f.tests); err != nil {
				return fmt.Errorf("%s: the tests fail without a fault:\n%s", f.tests, output)
			}
			sound[f.tests] = true
		}
		start := time.Now()
		by, err := f.try(ctx, dir)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.title, err)
		}
		tried++
		if by != "" {
			noticed++
			fmt.Printf("noticed %3.0f s  %s (%s)\n", time.Since(start).Seconds(), f.title, by)
		} else {
			fmt.Printf("MISSED  %3.0f s  %s\n", time.Since(start).Seconds(), f.title)
		}
	}
	fmt.Printf("The tests noticed %d of %d faults.\n", noticed, tried)
	if tried == 0 || 100*noticed < enough*tried {
		return fmt.Errorf("the tests must notice %d %%", enough)
	}
	return nil
}

// A fault is a change of one place in a file.
type fault struct{ tests, title, file, old, new string }

func parse(text string) (faults []fault, err error) {
	tests := ""
	for block := range strings.SplitSeq(text, "\n\n") {
		var f fault
		for line := range strings.Lines(block) {
			line, _ = strings.CutSuffix(line, "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			rest := line[1:] + "\n"
			switch {
			case strings.HasPrefix(line, "tests: "):
				tests = strings.TrimPrefix(line, "tests: ")
			case f.title == "":
				f = fault{title: line, tests: tests}
				f.file, _, _ = strings.Cut(line, ":")
			case line[0] == '-':
				f.old += rest
			case line[0] == '+':
				f.new += rest
			case line[0] == ' ':
				f.old, f.new = f.old+rest, f.new+rest
			default:
				return nil, fmt.Errorf("invalid line %q", line)
			}
		}
		if f.title == "" {
			continue
		}
		if f.tests == "" || f.old == f.new {
			return nil, fmt.Errorf("%s: the fault has no tests or changes nothing", f.title)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// try returns the first test that notices the fault, or "" if none does.
func (f fault) try(ctx context.Context, dir string) (by string, err error) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(text, []byte(f.old)); f.old == "" || n != 1 {
		return "", fmt.Errorf("the lines that the fault keeps and removes occur %d times, want once", n)
	}
	at, err := filepath.Abs(f.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, filepath.Base(f.file)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {at: changed}})
	if err != nil {
		return "", err
	}
	text = bytes.Replace(text, []byte(f.old), []byte(f.new), 1)
	if err := errors.Join(os.WriteFile(changed, text, 0o666), os.WriteFile(overlay, replace, 0o666)); err != nil {
		return "", err
	}
	output, err := test(ctx, f.tests, "-failfast", "-overlay", overlay)
	switch {
	case err == nil:
		return "", nil
	case bytes.Contains(output, []byte("[build failed]")):
		return "", fmt.Errorf("it does not compile:\n%s", output)
	}
	if failed := regexp.MustCompile(`--- FAIL: (\S+)|(panic: .*)`).FindSubmatch(output); failed != nil {
		return string(failed[1]) + string(failed[2]), nil
	}
	return "the end of a test binary", nil
}

// test runs the tests of packages. The test binary ends itself if it hangs.
func test(ctx context.Context, packages string, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-vet=off", "-timeout=5m"}, flags...)
	return exec.CommandContext(ctx, "go", append(args, strings.Fields(packages)...)...).CombinedOutput()
}
