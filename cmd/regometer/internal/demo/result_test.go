// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"slices"
	"testing"
)

func TestMediansOf(t *testing.T) {
	t.Parallel()
	var rounds [][]cost
	for _, c := range []cost{{DropIn: 30, Unmodified: 10}, {DropIn: 20, Unmodified: 40}, {DropIn: 10, Unmodified: 20}} {
		rounds = append(rounds, slices.Repeat([]cost{c}, len(costs)))
	}
	if got, want := mediansOf(rounds)[0], (cost{"handler_us", 20, 20, 1, 0.5, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	rounds[0][0].Unmodified = 0
	if got, want := mediansOf(rounds)[0], (cost{Name: "handler_us", Unmodified: 20, DropIn: 20}); got != want {
		t.Errorf("without a cost in a round: got %+v, want %+v", got, want)
	}
}
