// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Each event of each body has the same chance, and large ones make draws smaller.
func TestDraw(t *testing.T) {
	t.Parallel()
	counts, seen := [2]float64{}, 0
	for range 200 {
		var all Draw
		for body, size := range []int{1000, 50} {
			var d Draw
			for i := range size {
				d.add(fmt.Appendf(nil, "%d %d", body, i))
			}
			all.Merge(d)
		}
		seen += all.Seen
		for _, e := range all.Kept {
			counts[e.Text[0]-'0']++
		}
	}
	if sum := counts[0] + counts[1]; sum != 200*mostDrawn || seen != 200*1050 || math.Abs(counts[1]/sum-50./1050) > 0.01 {
		t.Errorf("%v of %d events", counts, seen)
	}
	var d Draw
	for range 1000 {
		d.add([]byte(strings.Repeat("x", 100_000)))
		d.add(make([]byte, largest+1))
	}
	if len(d.Kept) != mostBytes/100_000 || d.Seen != 1000 {
		t.Errorf("%d events of %d stay", len(d.Kept), d.Seen)
	}
}
