// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runFakes runs the demo on fake OPAs. It checks that no temporary file is left. If Keep is set, it
// checks that no server is left.
func runFakes(ctx context.Context, t *testing.T, ours, theirs string, c Config) (stdout string, err error) {
	t.Helper()
	names := map[bool]string{false: fakeOPA(t, ours), true: fakeOPA(t, theirs)}
	temp, output := t.TempDir(), new(bytes.Buffer)
	t.Setenv("TMPDIR", temp)
	c.Build = func(_ context.Context, unmodified bool, _ io.Writer) (string, error) { return names[unmodified], nil }
	c.Stdout, c.Stderr = output, io.Discard
	err = Run(ctx, c)
	for _, name := range logFiles {
		log, _ := os.ReadFile(filepath.Join(c.Keep, name))
		address, _, _ := strings.Cut(string(log), "\n")
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			t.Errorf("the server on %s still runs", address)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	return output.String(), err
}

func TestRun(t *testing.T) {
	text, err := runFakes(t.Context(), t, "good", "wasteful", Config{Duration: time.Millisecond, Keep: filepath.Join(t.TempDir(), "keep")})
	for _, want := range []string{
		"OPA 1.2.3 with Regometer answered 200 requests",
		"\nx ", // the path
		"\nWHICH RULES TAKE IT, by a replay of the log: ",
		"\nallowed                     200          200\n",
		"\nin rego_query_eval  200, 200 µs  200, 200 µs\n",
		"\ntime in the handler     1.00 s      1.00 s   1.00\n",
		"\nallocated              1.00 KB     4.00 KB   0.25\n",
	} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v; %q is missing in\n%s", err, want, text)
		}
	}
}

func TestRunFindsFaults(t *testing.T) {
	for _, test := range []struct{ ours, theirs, want string }{
		{"wrong", "good", "the OPA with Regometer answered POST /v1/data/rbac/allow "},
		{"good", "wrong", "the unmodified OPA answered POST /v1/data/rbac/allow "},
		{"broken", "good", "the OPA with Regometer ended unexpectedly (exit status 3); its last lines:\n  rego_parse_error: somewhere"},
		{"good", "broken", "the unmodified OPA ended unexpectedly (exit status 3); its last lines:\n  rego_parse_error: somewhere"},
	} {
		stdout, err := runFakes(t.Context(), t, test.ours, test.theirs, Config{Duration: time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), test.want) || stdout != "" {
			t.Errorf("%s, %s: error %v, want %q; output %q", test.ours, test.theirs, err, test.want, stdout)
		}
	}
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	stdout, err := runFakes(ctx, t, "good", "good", Config{Duration: time.Hour, Keep: t.TempDir()})
	if !errors.Is(err, context.DeadlineExceeded) || stdout != "" {
		t.Errorf("error %v, output %q", err, stdout)
	}
}
