// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A signal ends the work, except one that was
// ignored from the beginning. An interrupted command leaves no temporary
// folder, even if the go command does not clean up, and keeps only its cache.
func TestSignals(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	const build, verify = "build --unmodified", "verify --packages v1/metrics"
	for _, test := range []struct {
		call   string
		signal syscall.Signal
		shell  string // starts the command
		status int
		says   string
		left   string // in the cache
	}{
		{build, syscall.SIGINT, "", 130, "regometer: interrupted\n", "new-bin.lock new-trees.lock trees"},
		{build, syscall.SIGTERM, "", 130, "regometer: interrupted\n", "new-bin.lock new-trees.lock trees"},
		{build, syscall.SIGHUP, "trap '' HUP; ", exitFailure, "exit status 3", "new-bin.lock new-trees.lock trees"},
		{verify, syscall.SIGINT, "", 130, "regometer: interrupted\n", "verify.lock"},
	} {
		if test.shell == "" && signal.Ignored(test.signal) {
			continue // under nohup: no shell brings it back
		}
		bin, temp := t.TempDir(), t.TempDir()
		// A go command that says when it runs, and does not clean up. It waits
		// for a signal that ends it.
		fifo, then := filepath.Join(bin, "fifo"), "exec sleep 60"
		if test.status == exitFailure {
			then = "sleep 0.5; exit 3"
		}
		write(filepath.Join(bin, "go"), `#!/bin/sh
case $1 in
build | test) mkdir "${GOTMPDIR:-$TMPDIR}/go-build1" && echo runs > `+fifo+`; `+then+` ;;
esac
exec `+goCommand+` "$@"
`)
		noError(os.Chmod(filepath.Join(bin, "go"), 0o755), syscall.Mkfifo(fifo, 0o600))
		cmd := command(t, append(strings.Fields(test.call), "--opa", tinyOPA(t))...)
		_, cache, _ := strings.Cut(cmd.Env[len(cmd.Env)-1], "=")
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", test.shell + `exec "$0" "$@"`}, cmd.Args...)
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+temp)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		noError(cmd.Start())
		runs, ended := make(chan string, 1), make(chan error, 1)
		go func() { runs <- read(fifo) }()
		go func() { ended <- cmd.Wait() }()
		select {
		case <-runs:
		case err := <-ended:
			t.Fatalf("%s: go does not run: %v; standard error:\n%s", test.call, err, &stderr)
		}
		_ = cmd.Process.Signal(test.signal) // a command that ignores it may have ended
		status := exitStatusOf(t, <-ended)
		if left := filesIn(temp) + filesIn(cache); status != test.status || !strings.Contains(stderr.String(), test.says) || left != test.left {
			t.Errorf("%s: %s%v: exit status %d, want %d; left %q, want %q; standard error:\n%s",
				test.call, test.shell, test.signal, status, test.status, left, test.left, &stderr)
		}
	}
}
