// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A testRun is what `go test -json` told of one package.
type testRun struct {
	results map[string]string // by test: "pass", "fail" or "skip"
	output  map[string][]byte // by test, of those that did not pass; "" is the package's
	result  string            // the package's, as above, or "" if it has not ended
	seconds float64           // without compiling
	line    []byte            // not ended yet
}

// maxOutput bounds what is kept of one test's output.
const maxOutput = 256 << 10

// runTests tests one package of a side, with flags that stand before its name
// and such as follow it. Failing tests are no error.
func runTests(ctx context.Context, s side, pkg string, flags, args []string) (*testRun, error) {
	r := &testRun{results: map[string]string{}, output: map[string][]byte{}}
	test := s.command("test", slices.Concat([]string{"-json"}, flags, []string{pkg}, args)...)
	test.Stdout = r
	err := test.Run(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if r.result == "" { // go could not even start
		if err == nil {
			err = fmt.Errorf("go test %s ended without a result", pkg)
		}
		return nil, err
	}
	return r, nil
}

// Write takes the output of go test, in pieces of any size.
func (r *testRun) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		r.line = append(r.line, line...)
		if line[len(line)-1] == '\n' {
			r.event(r.line)
			r.line = r.line[:0]
		}
	}
	return len(p), nil
}

func (r *testRun) event(line []byte) {
	var e struct {
		Action, Test, Output string
		Elapsed              float64
	}
	if err := json.Unmarshal(line, &e); err != nil {
		r.keep("", string(line))
		return
	}
	switch e.Action {
	case "output", "build-output":
		r.keep(e.Test, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.result, r.seconds = e.Action, e.Elapsed
			return
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

func (r *testRun) keep(test, text string) {
	if len(r.output[test])+len(text) <= maxOutput {
		r.output[test] = append(r.output[test], text...)
	}
}

// count returns how many tests ended with this result.
func (r *testRun) count(result string) int {
	n := 0
	for _, res := range r.results {
		if res == result {
			n++
		}
	}
	return n
}

// broken reports whether the package failed although none of its tests did:
// it does not compile, a test ended the process, or time ran out.
func (r *testRun) broken() bool { return r.result == "fail" && r.count("fail") == 0 }

// failureOutput returns the output of a test that failed and of those below
// it, with the package's own: a panic is in either.
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
