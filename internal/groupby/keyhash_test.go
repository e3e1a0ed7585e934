// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"testing"
)

// TestKeyHash: the hash never changes, since it decides what reports keep that
// are merged.
func TestKeyHash(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]uint64{
		"":                  0xefd01f60ba992926,
		"rbac/allow":        0xa17746a69901517,
		"\xff\x00":          0x6697e69689e5177a,
		"system/policies/1": 0xe6597a49596fc317,
	} {
		if got := keyHash([]byte(key)); got != want {
			t.Errorf("keyHash(%q) is %#x, want %#x", key, got, want)
		}
	}
}
