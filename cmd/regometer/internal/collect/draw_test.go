// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"math"
	"testing"
)

// Each event of each body has the same chance, and large ones make draws smaller.
func TestDraw(t *testing.T) {
	t.Parallel()
	texts := [2][]byte{bytes.Repeat([]byte("0"), 20_000), []byte("1")}
	counts, seen := [2]float64{}, 0
	for range 200 {
		var all Draw
		for body, size := range []int{1000, 50} {
			var d Draw
			for range size {
				d.add(texts[body])
			}
			all.Merge(d)
		}
		seen += all.Seen
		for _, e := range all.Kept {
			counts[e.Text[0]-'0']++
		}
	}
	if sum := counts[0] + counts[1]; seen != 200*1050 || math.Abs(counts[1]/sum-50./1050) > 0.01 {
		t.Errorf("%v of %d events", counts, seen)
	}
	var small, large Draw
	for range 1000 {
		small.add(texts[1])
		large.add(make([]byte, 100_000))
		large.add(make([]byte, largest+1))
	}
	if len(small.Kept) != mostDrawn || len(large.Kept) != mostBytes/100_000 || large.Seen != 1000 {
		t.Errorf("%d small events and %d large ones of %d stay", len(small.Kept), len(large.Kept), large.Seen)
	}
}
