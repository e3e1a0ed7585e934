// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package harness

import "os/exec"

// dieWithUs does nothing: only Linux can tie a process to its parent.
func dieWithUs(*exec.Cmd) {}
