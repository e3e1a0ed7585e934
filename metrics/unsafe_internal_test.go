// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

func TestSameName(t *testing.T) {
	names := []string{"", "a", "b", "ab", "ba", "abc", "abd", "xbc", "axc", RegoQueryEval, RegoQueryParse, RegoInputParse}
	for i, a := range names {
		for j, b := range names {
			if got := sameName(a, strings.Clone(b)); got != (i == j) {
				t.Errorf("sameName(%q, %q) = %v", a, b, got)
			}
			if got := sameName(a, b); got != (i == j) {
				t.Errorf("sameName(%q, %q) = %v", a, b, got)
			}
		}
	}
}

// Boxed numbers are those that were put in, of the right type, also after a
// garbage collection and beyond the number announced.
func TestBoxes(t *testing.T) {
	for _, announced := range []int{0, 1, 100} {
		box := newBoxes(announced)
		var got, want []any
		for range 100 {
			n := rand.Uint64()
			got = append(got, box.int64(int64(n)), box.uint64(n), box.float64(float64(n)))
			want = append(want, int64(n), n, float64(n))
		}
		got = append(got, box.float64(math.Inf(-1)))
		want = append(want, math.Inf(-1))
		runtime.GC()
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v (%T), want %v (%T)", got[i], got[i], want[i], want[i])
			}
		}
	}
}
