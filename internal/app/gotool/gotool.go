// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package gotool runs the user's go command and explains its failures.
package gotool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/procgroup"
)

// OldestGo is the Go release that the newest supported OPA needs.
const OldestGo = "1.26"

// A Command is one invocation of the go command.
type Command struct {
	Dir  string
	Args []string
	Env  []string // added to the environment
	// UserEnv leaves GOFLAGS, GOWORK and GO111MODULE as the user has them, for
	// a user's own program. Otherwise they are cleared: GOFLAGS=-mod=vendor and
	// the like must not reach OPA's build.
	UserEnv bool
	Stdout  io.Writer // nil = discarded
	// Note is called with each line of standard error, without its end. What
	// it returns true for is no part of the error. It may be nil.
	Note func(line string) bool
}

// Run runs the command and waits for it. Cancelling ctx interrupts go and all
// that it started; what has not ended ten seconds later is killed. If the
// command fails the error is an [*Error], or ctx's error.
func (c Command) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = os.Environ()
	if !c.UserEnv {
		// A blank, since an empty value would let the one of `go env -w`
		// through.
		cmd.Env = append(cmd.Env, "GOFLAGS= ", "GOWORK=off", "GO111MODULE=on")
	}
	cmd.Env = append(cmd.Env, c.Env...)
	stderr := stderrTail{note: c.Note}
	cmd.Stdout = c.Stdout
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	procgroup.Set(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		procgroup.Kill(cmd)
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	return &Error{Args: c.Args, Stderr: strings.TrimSpace(stderr.String()), Err: err}
}

// Output runs the command and returns what it wrote to standard output, also
// if it failed.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run(ctx)
	return out.Bytes(), err
}

// Env returns the values of some variables of `go env`, with these added to the
// environment.
func Env(ctx context.Context, added []string, names ...string) (map[string]string, error) {
	out, err := Command{Args: append([]string{"env", "-json"}, names...), Env: added}.Output(ctx)
	if err != nil {
		return nil, err
	}
	var env map[string]string
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, fmt.Errorf("go env printed something else than JSON: %w", err)
	}
	return env, nil
}

// An Error is a failure of the go command.
type Error struct {
	Args   []string
	Stderr string // its end, if it was long
	Err    error
}

func (e *Error) Error() string {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return "no Go toolchain on PATH: install Go " + OldestGo + " or newer (https://go.dev/dl/) and put its bin folder on PATH"
	}
	s := fmt.Sprintf("go %s: %v", e.Args[0], e.Err)
	if e.Stderr != "" {
		s += "\n" + e.Stderr
	}
	if h := Hint(e.Stderr); h != "" {
		s += "\n" + h
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// hints are checked in this order: the first that matches is the most
// specific cause.
var hints = []struct {
	hint  string
	signs []string // of the go command's messages, in lower case
}{
	{
		"The disk is full. Free some space: a build needs about 1 GB in the temporary folder, Go's build cache (`go env GOCACHE`) and the cache folder.",
		[]string{"no space left on device", "not enough space on the disk", "disk quota exceeded"},
	},
	{
		"This Go is too old for what is built. Install a newer Go (https://go.dev/dl/), or let Go fetch one: GOTOOLCHAIN=auto.",
		[]string{"requires go >=", "toolchain not available", "requires go1."},
	},
	{
		"Go may not download modules here. Let GOPROXY name a module proxy: the environment's has precedence over that of `go env -w`.",
		[]string{"disabled by goproxy=off"},
	},
	{
		"The module proxy could not be reached. Check the network, HTTPS_PROXY and `go env GOPROXY`.",
		[]string{
			"dial tcp", "no such host", "connection refused", "connection reset", "i/o timeout", "network is unreachable",
			"tls handshake", "proxyconnect", "x509:", "bad gateway", "service unavailable", "gateway timeout",
		},
	},
	{
		"The module proxy does not have the Go release that go.mod asks for. Install it (https://go.dev/dl/), or set GOTOOLCHAIN=local if the one here will do.",
		[]string{"go: download go1."},
	},
	{
		"There is no such version, or the proxy does not have it. `go list -m -versions MODULE` lists those there are; OPA's module is github.com/open-policy-agent/opa.",
		[]string{"unknown revision", "404 not found", "410 gone", "403 forbidden", "invalid version", "no matching versions"},
	},
	{
		"Check the owner and permissions of the folder that is named above, or set GOCACHE, GOMODCACHE or REGOMETER_CACHE to one that you may write to.",
		[]string{"permission denied", "read-only file system", "access is denied"},
	},
}

// Hint returns how to mend the failure that the text tells of, or "".
func Hint(text string) string {
	text = strings.ToLower(text)
	for _, h := range hints {
		for _, s := range h.signs {
			if strings.Contains(text, s) {
				return h.hint
			}
		}
	}
	return ""
}

// stderrTail keeps the last 8 to 16 KB of the lines that note does not take.
type stderrTail struct {
	note func(line string) bool
	line []byte // the one that is not ended yet
	tail []byte
}

const tailSize = 8 << 10

func (t *stderrTail) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		t.line = append(t.line, line...)
		if line[len(line)-1] == '\n' {
			t.endLine()
		}
	}
	return len(p), nil
}

func (t *stderrTail) endLine() {
	if t.note == nil || !t.note(strings.TrimRight(string(t.line), "\r\n")) {
		t.tail = append(t.tail, t.line...)
	}
	t.line = t.line[:0]
	if len(t.tail) > 2*tailSize {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-tailSize:]...)
	}
}

// String returns what was kept. All was written by then.
func (t *stderrTail) String() string {
	t.endLine()
	return string(t.tail)
}
