// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os/exec"
	"syscall"
)

// dieWithUs lets a process end with the test binary, even if somebody kills
// the binary and it cannot clean up.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
