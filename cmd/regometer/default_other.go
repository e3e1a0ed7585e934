// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "os"

// setDefault leaves it at the default of os/signal, see default_linux.go: a
// signal within some microseconds around the exec may be lost.
func setDefault([]os.Signal) {}
