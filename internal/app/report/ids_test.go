// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/binary"
	"maps"
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

// A sample of ids is the same however the ids were spread over those that were
// merged: all ids up to as many as there may be, by hash, each as often as it
// came.
func TestIDsMerge(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	// The hashes begin with zeros, and all ids are in the sample.
	keys := make([]uint64, 3*maxIDs)
	for i := range keys {
		keys[i] = r.Uint64() >> idShift
	}
	sampleOf := func(keys []uint64) *idSample {
		s := &idSample{shift: idShift, counts: map[uint64]uint32{}}
		for _, key := range keys {
			s.put(key, 1)
			if len(s.counts) > maxIDs {
				t.Fatalf("the sample has %d ids", len(s.counts))
			}
		}
		return s
	}
	for _, cuts := range [][]int{{0}, {10, 20}, {maxIDs}, {10, 2*maxIDs + 10}, {2 * maxIDs, 2*maxIDs + 5}} {
		// Some ids are there twice, in different parts too.
		all := append(append([]uint64(nil), keys...), keys[:maxIDs]...)
		want := sampleOf(all)
		var parts []*idSample
		from := 0
		for _, to := range append(cuts, len(all)) {
			parts = append(parts, sampleOf(all[from:to]))
			from = to
		}
		for range 3 {
			got := &idSample{}
			for _, i := range r.Perm(len(parts)) {
				part := &idSample{parts[i].shift, maps.Clone(parts[i].counts)}
				if err := got.merge(part); err != nil {
					t.Fatal(err)
				}
			}
			if got.shift != want.shift || !maps.Equal(got.counts, want.counts) {
				t.Fatalf("cut at %v: %d ids with shift %d, want %d with %d", cuts, len(got.counts), got.shift, len(want.counts), want.shift)
			}
		}
		if _, repeated := want.totals(); repeated == 0 {
			t.Error("no id is there twice")
		}
	}
}
