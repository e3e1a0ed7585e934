// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPackedCounters(t *testing.T) {
	t.Parallel()
	for width := range uint8(4) {
		t.Run(fmt.Sprintf("bits=%d", 8<<width), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(width)))
			l := newPackedCounters(21, width)
			if l.len() < 21 {
				t.Fatalf("%d counters, want 21", l.len())
			}
			want := make([]uint64, l.len())
			for range 2000 {
				i, n := r.IntN(l.len()), r.Uint64()>>(64-8<<width+r.IntN(8<<width))
				sum := want[i] + n
				fits := width == 3 || sum <= 1<<(8<<width)-1
				got, ok := l.add(i, n)
				if ok != fits {
					t.Fatalf("%d+%d: added is %t, want %t", want[i], n, ok, fits)
				}
				if fits {
					want[i] = sum
				}
				if got != want[i] {
					t.Fatalf("counter %d is %d, want %d", i, got, want[i])
				}
			}
			if got := l.all(); !slices.Equal(got, want) {
				t.Errorf("counters\n got %d\nwant %d", got, want)
			}
			part := make([]uint64, 10)
			if l.copyTo(part, 7); !slices.Equal(part, want[7:17]) {
				t.Errorf("counters from 7 on\n got %d\nwant %d", part, want[7:17])
			}
		})
	}
}
