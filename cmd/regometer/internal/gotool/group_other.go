// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package gotool

import "os/exec"

// setGroup does nothing. Without process groups, cancelling kills only the command.
// Its children end by themselves.
func setGroup(*exec.Cmd) {}

// killGroup does nothing.
func killGroup(*exec.Cmd) {}
