// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "os"

// setDefault keeps the default of os/signal. A signal may be lost within some
// microseconds around the exec: see default_linux.go.
func setDefault([]os.Signal) {}
