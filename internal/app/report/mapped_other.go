// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package report

import "os"

// mapFile maps files only on Linux. Here it returns nil.
func mapFile(*os.File, int64, int64) (text []byte, unmap func()) { return nil, nil }
