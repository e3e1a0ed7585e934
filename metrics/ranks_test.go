// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// find finds what sorting does, with little room and in few passes or many.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{1, 2, 30, 1000, 20_000} {
		for name, samples := range sortInputs(r, n) {
			num := make([]int64, n)
			for i := range samples {
				num[i] = samples[i].value
			}
			original := slices.Clone(num)
			sorted := slices.Sorted(slices.Values(num))
			for _, room := range []int{1, 25, 500} {
				ranks := []int{0, 0, n / 2, n - 1}
				for range 10 {
					ranks = append(ranks, r.IntN(n))
				}
				slices.Sort(ranks)
				w := &workspace{all: make([]sample, room), sorter: sorter{spare: make([]sample, room)}}
				values := map[int]int64{}
				w.find(values, ranks, num, sorted[0], sorted[n-1], 0)
				for _, rank := range ranks {
					if got, ok := values[rank]; !ok || got != sorted[rank] {
						t.Fatalf("%d %s values, room for %d: rank %d is %d, want %d", n, name, room, rank, got, sorted[rank])
					}
				}
			}
			if !slices.Equal(num, original) {
				t.Fatalf("%d %s values: the numbers were changed", n, name)
			}
		}
	}
}
