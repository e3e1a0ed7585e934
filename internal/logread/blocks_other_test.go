// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !gc || purego || !amd64

package logread

// eachProcessor calls read: here, all processors are alike.
func eachProcessor(read func(processor string)) { read("portable") }
