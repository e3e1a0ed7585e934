// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

// keyHash returns the hash that decides which keys and names [Groups] keeps. It
// is the same in every process and every release. It is the 64-bit FNV-1a,
// mixed by fmix64 of MurmurHash3.
func keyHash(key []byte) uint64 {
	h := uint64(0xCBF29CE484222325)
	for _, c := range key {
		h = (h ^ uint64(c)) * 0x100000001B3
	}
	h = (h ^ h>>33) * 0xFF51AFD7ED558CCD
	h = (h ^ h>>33) * 0xC4CEB9FE1A85EC53
	return h ^ h>>33
}
