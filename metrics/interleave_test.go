// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/regometer/regometer"
)

// The calls of goroutines that share a timer return what they could have
// returned one after the other, for any order of the steps of timer.go.
// A program runs all orders: see testdata/interleave. It has a copy of timer.go
// whose atomics and clock are the program's own.
func TestTimerInEveryOrder(t *testing.T) {
	t.Parallel()
	timer, err := regometer.Files.ReadFile("metrics/timer.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"package metrics\n", "package main\n"},
		{`"sync/atomic"`, `atomic "interleave/step"`},
		{`"time"`, `time "interleave/step"`},
	} {
		if n := bytes.Count(timer, []byte(change[0])); n != 1 {
			t.Fatalf("timer.go has %s %d times, want once", change[0], n)
		}
		timer = bytes.Replace(timer, []byte(change[0]), []byte(change[1]), 1)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/interleave")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"timer.go": timer,
		"go.mod":   []byte("module interleave\n\ngo 1.23\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	// The program is for the machine that the go command is for.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
