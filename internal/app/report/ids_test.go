// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestLastBytes: the last bytes of ids of any length are those of the id with
// zeros before it.
func TestLastBytes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for length := range 40 {
		id := make([]byte, 8+length)
		for i := range id[8:] {
			id[8+i] = byte(r.Uint32())
		}
		if got, want := lastBytes(id[8:]), binary.BigEndian.Uint64(id[length:]); got != want {
			t.Errorf("of %d bytes: %#x, want %#x", length, got, want)
		}
	}
}
