// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package gotool runs the user's go command and explains its failures.
package gotool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// OldestGo is the Go release that the newest supported OPA needs.
const OldestGo = "1.26"

// A Command is one invocation of the go command.
type Command struct {
	Dir  string
	Args []string
	Env  []string // added to the environment
	// UserEnv keeps GOFLAGS, GOWORK and GO111MODULE as the user has them, for a
	// user's own program. Otherwise Run clears them: settings such as
	// GOFLAGS=-mod=vendor must not reach OPA's build.
	UserEnv bool
}

// Run runs the command and waits for it. Cancelling ctx interrupts go and
// everything that it started. Run kills the processes that have not ended ten
// seconds later. If the command fails, the error is an [*Error], or ctx's
// error.
func (c Command) Run(ctx context.Context) error {
	_, err := c.Output(ctx)
	return err
}

// Output is Run, and returns what the command wrote to standard output, even if
// the command failed.
func (c Command) Output(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = os.Environ()
	if !c.UserEnv {
		// A blank, because go replaces an empty value with that of `go env -w`.
		cmd.Env = append(cmd.Env, "GOFLAGS= ", "GOWORK=off", "GO111MODULE=on")
	}
	cmd.Env = append(cmd.Env, c.Env...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.WaitDelay = 10 * time.Second
	setGroup(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		killGroup(cmd)
		return out.Bytes(), ctx.Err()
	}
	if err != nil {
		lines := slices.Compact(strings.Split(strings.TrimSpace(downloading.ReplaceAllString(stderr.String(), "")), "\n"))
		err = &Error{Args: c.Args, Stderr: strings.Join(lines, "\n"), Err: err}
	}
	return out.Bytes(), err
}

// downloading matches lines that say nothing about a failure.
var downloading = regexp.MustCompile(`(?m)^go: downloading .*\n`)

// An Error is a failure of the go command.
type Error struct {
	Args   []string
	Stderr string
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

// hints are checked in this order. The first hint that matches names the most
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
		"This Go is too old for this build. Install a newer Go (https://go.dev/dl/), or let Go fetch one: GOTOOLCHAIN=auto.",
		[]string{"requires go >=", "toolchain not available", "requires go1."},
	},
	{
		"Go may not download modules here. Let GOPROXY name a module proxy: the environment variable has precedence over `go env -w`.",
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
		"The module proxy does not have the Go release that go.mod asks for. Install it (https://go.dev/dl/), or set GOTOOLCHAIN=local to use the Go that is installed.",
		[]string{"go: download go1."},
	},
	{
		"There is no such version, or the proxy does not have it. `go list -m -versions MODULE` lists all versions. OPA's module is github.com/open-policy-agent/opa.",
		[]string{"unknown revision", "404 not found", "410 gone", "403 forbidden", "invalid version", "no matching versions"},
	},
	{
		"Check the owner and permissions of the folder above, or set GOCACHE, GOMODCACHE or REGOMETER_CACHE to a folder that you may write to.",
		[]string{"permission denied", "read-only file system", "access is denied"},
	},
}

// Hint returns a remedy for the failure that the text describes, or "".
func Hint(text string) string {
	text = strings.ToLower(text)
	for _, h := range hints {
		if slices.ContainsFunc(h.signs, func(sign string) bool { return strings.Contains(text, sign) }) {
			return h.hint
		}
	}
	return ""
}
