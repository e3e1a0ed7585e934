// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package outfile

import "testing"

func makeIrregular(*testing.T) map[string]string { return nil }
