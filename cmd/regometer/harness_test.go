// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// With this variable set the test binary is the command itself, for the tests
// that need a process of their own.
const isCommand = "REGOMETER_TEST_IS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(isCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command returns the command as a process, with a cache of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), isCommand+"=1", "GOGC=", "REGOMETER_CACHE="+t.TempDir()) // GOGC as users have it
	return cmd
}

// exitStatusOf returns the exit status of a process.
func exitStatusOf(t *testing.T, err error) int {
	t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// call runs the command without input and returns its exit status and output.
func call(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errors bytes.Buffer
	status = run(ctx, args, strings.NewReader(""), &out, &errors)
	return status, out.String(), errors.String()
}

// succeed makes a call that must succeed, and returns its standard output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := call(t.Context(), args...)
	if status != 0 {
		t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
	return stdout
}

// must returns v, or ends the test if err is not nil.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError ends the test if one of errs is not nil.
func noError(errs ...error) { must(0, errors.Join(errs...)) }

// write writes a file, and the folder that it is in.
func write(name, text string) {
	noError(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
}

func read(name string) string { return string(must(os.ReadFile(name))) }

// filesIn returns the names of the files in a folder.
func filesIn(dir string) string {
	var names []string
	for _, e := range must(os.ReadDir(dir)) {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// tinyOPA returns a source tree in the shape of OPA's. Its program copies its
// input, prints its arguments on standard error and exits with their number.
func tinyOPA(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module github.com/open-policy-agent/opa\n\ngo 1.22\n",
		"main.go": `package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	io.Copy(os.Stdout, os.Stdin)
	fmt.Fprintf(os.Stderr, "%q\n", os.Args)
	os.Exit(len(os.Args) - 1)
}
`,
		"v1/version/version.go":      "package version\n\nvar Version = \"1.5.0\"\n",
		"v1/metrics/metrics.go":      "package metrics\n",
		"v1/metrics/metrics_test.go": "package metrics\n\nimport \"testing\"\n\nfunc Test(*testing.T) {}\n",
	} {
		write(filepath.Join(dir, name), text)
	}
	return dir
}

// skipSlow skips a test, and says why it is slow, unless such tests are asked for.
func skipSlow(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip(why + ": set REGOMETER_SLOW_TESTS=1")
	}
}
