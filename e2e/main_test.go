// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// long returns the first value, or with -short the second.
func long[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}
