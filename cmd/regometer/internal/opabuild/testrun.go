// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

// A side says how to run the go command on one of two sources. It has the
// folder, the build flags and the environment.
type side struct {
	dir     string
	flags   []string
	env     []string
	userEnv bool // as in gotool.Command
}

// command returns an invocation with the flags after its first argument.
func (s side) command(arg string, args ...string) gotool.Command {
	return gotool.Command{Dir: s.dir, Args: slices.Concat([]string{arg}, s.flags, args), Env: s.env, UserEnv: s.userEnv}
}

// A testRun is the outcome of `go test -json` for one package.
type testRun struct {
	results map[string]string // by test: "pass", "fail" or "skip"; "" is the package
	output  map[string][]byte // by test, of tests that did not pass; "" is the package
	result  string            // of the package, or "" if it has not ended
	seconds float64           // without compiling
}

// maxOutput limits the output of one test that a testRun keeps, in bytes.
const maxOutput = 256 << 10

// runTests tests one package of a side. The flags come before the package's
// name, and args after it. Failing tests are not an error.
func runTests(ctx context.Context, s side, pkg string, flags, args []string) (*testRun, error) {
	out, err := s.command("test", slices.Concat([]string{"-json"}, flags, []string{pkg}, args)...).Output(ctx)
	r := readTestRun(out)
	if ctx.Err() != nil || r.result == "" { // go could not run the tests
		return nil, cmp.Or(err, fmt.Errorf("go test %s ended without a result", pkg))
	}
	return r, nil
}

// readTestRun reads the output of `go test -json`.
func readTestRun(out []byte) *testRun {
	r := &testRun{results: map[string]string{}, output: map[string][]byte{}}
	for line := range bytes.Lines(out) {
		var e struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if json.Unmarshal(line, &e) != nil {
			e.Action, e.Output = "output", string(line)
		}
		switch e.Action {
		case "output", "build-output":
			if len(r.output[e.Test])+len(e.Output) <= maxOutput {
				r.output[e.Test] = append(r.output[e.Test], e.Output...)
			}
		case "pass", "fail", "skip":
			if e.Test == "" {
				r.result, r.seconds = e.Action, e.Elapsed
				continue
			}
			// With -count a test runs more than once: its worst result counts.
			if worse := r.results[e.Test]; worse != "fail" && (worse != "skip" || e.Action == "fail") {
				r.results[e.Test] = e.Action
			}
			if r.results[e.Test] == "pass" {
				delete(r.output, e.Test)
			}
		}
	}
	// The package itself counts as failed if it failed without a failed test.
	// It does not compile, a test ended the process, or time ran out.
	r.results[""] = "pass"
	if r.result == "fail" && r.count("fail") == 0 {
		r.results[""] = "fail"
	}
	return r
}

// count returns the number of tests that ended with this result.
func (r *testRun) count(result string) int {
	n := 0
	for test, res := range r.results {
		if res == result && test != "" {
			n++
		}
	}
	return n
}

// failureOutput returns the output of a test that failed and of the tests below
// it. It returns the output of the package if there is none, or if test is "".
func (r *testRun) failureOutput(test string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.output)) {
		if name == "" || test != "" && name != test && !strings.HasPrefix(name, test+"/") {
			continue
		}
		if r.results[name] != "skip" {
			b.Write(r.output[name])
		}
	}
	if test == "" || b.Len() == 0 {
		b.Write(r.output[""])
	}
	return b.String()
}
