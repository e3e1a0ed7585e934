// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package replay

import (
	"os"
	"syscall"
)

// yield gives the process the lowest priority. If memory is short, Linux ends it
// first.
func yield() {
	const lowest = 19
	_ = syscall.Setpgid(0, 0) // Linux has a priority for each thread, and sets those of a group together
	_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, lowest)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}
