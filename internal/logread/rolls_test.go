// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"math/rand/v2"
	"testing"
)

// rolls runs a check on random data many times. The check returns whether the
// data were of interest, which at least so many must be.
func rolls(t *testing.T, times, least int, check func(r *rand.Rand) bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range times {
		if check(r) {
			found++
		}
	}
	if found < least {
		t.Errorf("only %d of %d checks were of interest", found, times)
	}
}

// oneOf returns one of the values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }
