// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package procgroup ends a program together with everything that the program
// started. go build starts compilers, and go test starts test binaries.
package procgroup

import (
	"os/exec"
	"syscall"
)

// Set gives a command its own process group, and makes cancelling interrupt the
// whole group.
func Set(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}

// Kill ends all processes of a command's group that still run.
func Kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
