// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Names that differ in one byte, of every length that is compared in its own
// way, and in length alone.
func TestSameName(t *testing.T) {
	names := []string{"", RegoQueryEval, RegoQueryParse, RegoInputParse}
	for n := 1; n <= 40; n++ {
		plain := strings.Repeat("x", n)
		names = append(names, plain)
		for i := range n {
			names = append(names, plain[:i]+"y"+plain[i+1:])
		}
	}
	for i, a := range names {
		for j, b := range names {
			for _, b := range []string{b, strings.Clone(b), (b + "x")[:len(b)]} {
				if got := sameName(a, b); got != (i == j) {
					t.Errorf("sameName(%q, %q) = %v", a, b, got)
				}
			}
		}
	}
}

// A box keeps its number and the number's type, also after a garbage collection
// and while other goroutines use the blocks. This test fails or crashes if Go
// lays out an any in another way than the boxes do.
func TestBoxes(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var got, want []any
			for i := range 100 {
				box := newBoxes()
				for range i {
					n := rand.Uint64() >> rand.IntN(64)
					got = append(got, box.int64(int64(n)), box.int64(-int64(n)), box.uint64(n), box.float64(float64(n)), box.float64(float64(n)), box.float64(math.Inf(-1)))
					want = append(want, int64(n), -int64(n), n, float64(n), float64(n), math.Inf(-1))
				}
				box.release()
				if i%25 == 0 {
					runtime.GC()
				}
			}
			for i := range got {
				if got[i] != want[i] || fmt.Sprintf("%T %v", got[i], got[i]) != fmt.Sprintf("%T %v", want[i], want[i]) {
					t.Errorf("%v (%T), want %v (%T)", got[i], got[i], want[i], want[i])
					return
				}
			}
		})
	}
	wg.Wait()
}
