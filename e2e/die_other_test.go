// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import "os/exec"

// dieWithUs does nothing: only Linux can tell a process of its parent's end.
func dieWithUs(*exec.Cmd) {}
