// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "os"

// maxResident returns 0: not known.
func maxResident(*os.ProcessState) int64 { return 0 }
