// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package gotool

import "os/exec"

// Without process groups cancelling kills the go command alone; its children
// end by themselves.
func inOwnGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
