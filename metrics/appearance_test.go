// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// together runs f in n goroutines. They wait for each other actively, because a
// channel would start one after the other.
func together(n int, f func(g int)) {
	var ready atomic.Int32
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() {
			for ready.Add(1); ready.Load() < int32(n); {
				runtime.Gosched()
			}
			f(g)
		})
	}
	wg.Wait()
}

// keepCatalog runs f and removes the names that f has added to the catalog, so
// that it does not become full.
func keepCatalog(f func()) {
	size := catalogSize.Load()
	var before [maxPlaces]*descriptor
	for i := range catalog {
		before[i] = catalog[i].descriptor.Load()
	}
	f()
	for i := range catalog {
		catalog[i].descriptor.Store(before[i])
	}
	catalogSize.Store(size)
}

// newNames returns names. In turns they are new to the program, seen once, and
// in the catalog.
func newNames(n int, prefix ...any) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(append(prefix, " ", i)...)
		for range i % 3 {
			m := New()
			m.Timer(names[i])
			m.Counter(names[i])
			m.Histogram(names[i])
		}
	}
	return names
}

// Goroutines that add the same names to the same stores, in the same order and
// from both ends, get one metric for each name. Some names differ only in their
// first bytes, and long names do not enter the catalog. Some stores are read at
// the same time.
func TestGoroutinesAddNames(t *testing.T) {
	const goroutines = 2
	for round := range 100 {
		ending := "_alike_name" + strings.Repeat("_long", round%2*maxKnownName)
		names := append(newNames(inlineMetrics+3, "added together ", round), RegoQueryEval, RegoQueryParse, "an"+ending, "to"+ending)
		keepCatalog(func() {
			stores := make([]store, 2000)
			together(goroutines, func(g int) {
				for i := range stores {
					s := &stores[i]
					for j := range 1 + i%len(names) {
						if g == 1 && i%3 == 0 {
							j = i%len(names) - j
						}
						name := names[(i/len(names)+j)%len(names)]
						s.number(KindCounter, name).value.Add(1)
						if i%16 == 0 {
							s.indexed(KindHistogram, name).histogram.Update(1)
							s.each(func(*descriptor, *cell, *histogram) bool { return true })
						}
					}
				}
			})
			for i := range stores {
				counters, histograms := 0, 0
				stores[i].each(func(d *descriptor, c *cell, h *histogram) bool {
					n := c.value.Load()
					if h != nil {
						histograms++
						n = Metric{value: h}.Summary().Count
					} else {
						counters++
					}
					if n != goroutines {
						t.Errorf("round %d, store %d: %.30q counts %d, want %d", round, i, d.key, n, goroutines)
					}
					return true
				})
				want := 1 + i%len(names)
				if counters != want || i%16 == 0 && histograms != want {
					t.Fatalf("round %d, store %d: %d counters and %d histograms, want %d", round, i, counters, histograms, want)
				}
			}
		})
	}
}

// A goroutine that found the store of a collection before Clear may still look
// up and read its metrics.
func TestClearedStoreIsStillUsed(t *testing.T) {
	for _, n := range []int{1, inlineMetrics, 3 * inlineMetrics} {
		c := new(collection)
		s := c.store()
		names := newNames(n, "still used ", n)
		for _, name := range names {
			s.number(KindTimer, name)
		}
		c.Clear()
		for i, name := range names {
			before := s.number(KindTimer, name)
			if before != s.number(KindTimer, name) {
				t.Errorf("two handles of name %d of %d", i, n)
			}
			s.indexed(KindHistogram, name)
		}
		seen := 0
		s.each(func(*descriptor, *cell, *histogram) bool { seen++; return true })
		if want := 2 * n; seen != want {
			t.Errorf("%d metrics of %d", seen, want)
		}
	}
}

// Goroutines that enter a name into the catalog at the same time get one
// descriptor.
func TestGoroutinesEnterNames(t *testing.T) {
	const goroutines, n = 2, 200
	for round := range 100 {
		keepCatalog(func() {
			before := catalogSize.Load()
			var names [n]string
			for i := range names {
				names[i] = fmt.Sprint("entered together ", round, " ", i)
			}
			var got [goroutines][n]*descriptor
			together(goroutines, func(g int) {
				for i, name := range names {
					got[g][i] = enterCatalog(name, hashName(KindTimer, name))
				}
			})
			for i, name := range names {
				d, _ := findCatalogued(name, hashName(KindTimer, name))
				if d == nil || got[0][i] != d || got[1][i] != d {
					t.Fatalf("round %d: two descriptors of name %d", round, i)
				}
			}
			if entered := catalogSize.Load() - before; entered != n {
				t.Fatalf("round %d: %d names have entered, want %d", round, entered, n)
			}
		})
	}
}

// Only the first names of a collection with very many enter the catalog when
// they recur.
func TestLargeCollectionIsNotRemembered(t *testing.T) {
	const n, most = 1000, inlineMetrics + wideSlots/2
	keepCatalog(func() {
		before := catalogSize.Load()
		for range 3 {
			m := New()
			for i := range n {
				m.Counter(fmt.Sprint("of a large collection ", i)).Incr()
			}
			if all := m.All(); len(all) != n || all["counter_of a large collection 999"] != uint64(1) {
				t.Fatalf("%d metrics", len(all))
			}
		}
		if entered := catalogSize.Load() - before; entered == 0 || entered > most {
			t.Errorf("%d names have entered, want 1 to %d", entered, most)
		}
	})
}
