// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package report

import "os"

// mapFile is known on Linux alone.
func mapFile(*os.File, int64, int64) (text []byte, unmap func()) { return nil, nil }
