// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"math"
	"testing"
)

// Sums of sizes of saved groups do not overflow.
func TestSizesSaturate(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	got, want := Sizes{most - 1, 2, most, 4, most - 5, 0}, Sizes{most, 3, most, 6, most, 0}
	got.merge(&Sizes{2, 3, most, 2, 7, 0})
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
