// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Numbers that a histogram can hold have the same statistics as those in one.
func TestStatistics(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100, 1028} {
		h := newHistogram()
		numbers := make([]int64, n)
		for i := range numbers {
			numbers[i] = rand.Int64N(1000) - 500
			h.Update(numbers[i])
		}
		given := slices.Clone(numbers)
		got, exp := Statistics(numbers...), h.Value()
		for key, e := range exp.(map[string]any) {
			if g := got.(map[string]any)[key]; g != e {
				t.Errorf("%d numbers: %s: expected %v, got %v", n, key, e, g)
			}
		}
		if len(got.(map[string]any)) != len(exp.(map[string]any)) {
			t.Errorf("%d numbers: expected %v, got %v", n, exp, got)
		}
		if !slices.Equal(numbers, given) {
			t.Errorf("%d numbers: expected the argument to be left alone", n)
		}
	}
	if got := Statistics(make([]int64, 5000)...).(map[string]any)["count"]; got != int64(5000) {
		t.Errorf("expected a count of 5000, got %v", got)
	}
}
