// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package procgroup

import "os/exec"

// Set does nothing. Without process groups, cancelling kills only the command.
// Its children end by themselves.
func Set(*exec.Cmd) {}

// Kill does nothing.
func Kill(*exec.Cmd) {}
