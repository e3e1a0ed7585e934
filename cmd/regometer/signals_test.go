// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With this variable set the test binary is a command that has done its work
// and becomes the program of that name, whose arguments follow.
const becomes = "REGOMETER_TEST_BECOMES"

func init() {
	path := os.Getenv(becomes)
	if path == "" {
		return
	}
	ctx := untilSignal(context.Background())
	if ctx.Err() == nil { // the last look that the command takes
		fmt.Println("becoming")
		err := become(ctx, path, os.Args)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailure)
		}
	}
	os.Exit(interruptedStatus(ctx))
}

// endedBy returns the signal that ended a process, by itself or by the status
// that tells of it, or 0.
func endedBy(t *testing.T, err error) syscall.Signal {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return status.Signal()
	}
	return syscall.Signal(max(exit.ExitCode()-128, 0))
}

// A signal ends the process, whether it comes before the exec, with it or
// after.
func TestSignalAtExec(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere some microseconds are left, see default_other.go")
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	const times, sleeps = 300, "10"
	for i := range times {
		cmd := exec.CommandContext(t.Context(), os.Args[0], sleeps)
		cmd.Env = append(os.Environ(), becomes+"="+sleep)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadByte(); err != nil {
			t.Fatal(err)
		}
		// Not by time.Sleep, which is too coarse.
		for until := time.Now().Add(rand.N(2 * time.Millisecond)); time.Now().Before(until); {
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if endedBy(t, cmd.Wait()) != syscall.SIGTERM {
			t.Fatalf("signal %d of %d was swallowed", i+1, times)
		}
	}
}

// Each signal ends the work with a status of its own, but for one that was
// ignored from the beginning.
func TestSignalStatus(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		shell  string // starts the command
		status int
		says   string
	}{
		{syscall.SIGINT, "", 130, "regometer: interrupted"},
		{syscall.SIGTERM, "", 143, "regometer: interrupted"},
		{syscall.SIGHUP, "", 129, "regometer: interrupted"},
		{syscall.SIGHUP, "trap '' HUP; ", exitFailure, "exit status 3"},
	} {
		if test.shell == "" && signal.Ignored(test.signal) {
			continue // under nohup: no shell brings it back
		}
		// A go command that says when it runs.
		bin := t.TempDir()
		fifo := filepath.Join(bin, "fifo")
		script := "#!/bin/sh\necho runs > " + fifo + "\nsleep 0.5\nexit 3\n"
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, "build", "--opa", tinyOPA(t), "--unmodified")
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", test.shell + `exec "$0" "$@"`}, cmd.Args...)
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(fifo); err != nil { // until go runs
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		if status := exitStatusOf(t, cmd.Wait()); status != test.status || !strings.Contains(stderr.String(), test.says) {
			t.Errorf("%s%v: exit status %d, want %d; standard error:\n%s", test.shell, test.signal, status, test.status, &stderr)
		}
	}
}

// An interrupted build leaves no temporary folder of the go command, even if
// that one does not clean up.
func TestSignalLeavesNothing(t *testing.T) {
	real, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"build", "--unmodified"}, {"verify", "--packages", "v1/metrics"}} {
		bin, temp := t.TempDir(), t.TempDir()
		fifo := filepath.Join(bin, "fifo")
		script := `#!/bin/sh
case $1 in
build | test) mkdir "${GOTMPDIR:-$TMPDIR}/go-build1" && echo runs > ` + fifo + `; exec sleep 30 ;;
esac
exec ` + real + ` "$@"
`
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, append(args, "--opa", tinyOPA(t))...)
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+temp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(fifo); err != nil { // until it is there
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if status := exitStatusOf(t, cmd.Wait()); status != exitInterrupted {
			t.Errorf("%s: exit status %d", args[0], status)
		}
		if left, err := os.ReadDir(temp); len(left) > 0 || err != nil {
			t.Errorf("%s: left %v, %v", args[0], left, err)
		}
	}
}
