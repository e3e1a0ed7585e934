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

// together runs f in n goroutines, which wait for each other actively: a
// channel would let them go one after the other.
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

// keepCatalog takes the names that enter the catalog while f runs out of it
// again, of which there is room for a few rounds only. Names that were there
// before are found without them.
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

// newNames returns names that are new to the program, seen once, or in the
// catalog, in turns.
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

// TestGoroutinesMeetAlikeNames: two goroutines that add different names at the
// same place, of one kind, length and ending, each get their own. Long names do
// not enter the catalog, and so they stay fresh.
func TestGoroutinesMeetAlikeNames(t *testing.T) {
	for round := range 100 {
		ending := "_alike_name" + strings.Repeat("_long", round%2*maxKnownName)
		names := [2]string{"an" + ending, "to" + ending}
		var all [1000]Metrics // so that the two meet in some
		for i := range all {
			all[i] = New()
		}
		together(2, func(g int) {
			name := names[g]
			for _, m := range all {
				m.Counter(name).Add(uint64(g + 1))
			}
		})
		for _, m := range all {
			if a, b := m.Counter(names[0]).Value(), m.Counter(names[1]).Value(); a != uint64(1) || b != uint64(2) {
				t.Fatalf("%v and %v, want 1 and 2", a, b)
			}
		}
	}
}

// TestGoroutinesMeetNames: goroutines that meet names together get one handle
// of each, and no count is lost; with few names and with more than are inline,
// met in the same order and from both ends, while they are read or not.
func TestGoroutinesMeetNames(t *testing.T) {
	for round := range 2000 {
		keepCatalog(func() { meetNames(t, round) })
	}
}

func meetNames(t *testing.T, round int) {
	const goroutines = 2
	names := newNames(1+round%14, "met together ", round)
	m := New()
	type handles struct {
		timer     Timer
		counter   Counter
		histogram Histogram
	}
	var got [goroutines][14]handles
	together(goroutines, func(g int) {
		for i := range names {
			if g%2 == 1 && round%4 == 0 {
				i = len(names) - 1 - i
			}
			name := names[i]
			h := &got[g][i]
			h.counter = m.Counter(name)
			h.counter.Incr()
			h.timer = m.Timer(name)
			h.histogram = m.Histogram(name)
			if round%3 == 0 {
				m.All()
			}
		}
	})
	for i, name := range names {
		want := handles{m.Timer(name), m.Counter(name), m.Histogram(name)}
		for g := range goroutines {
			if got[g][i] != want {
				t.Fatalf("round %d: goroutine %d has another handle of name %d of %d", round, g, i, len(names))
			}
		}
		if n := want.counter.Value(); n != uint64(goroutines) {
			t.Fatalf("round %d: counter %d of %d is %v, want %d", round, i, len(names), n, goroutines)
		}
	}
	yielded := 0
	for range Each(m) {
		yielded++
	}
	if n := len(m.All()); n != 3*len(names) || yielded != n {
		t.Fatalf("round %d: All has %d metrics and Each %d, want %d", round, n, yielded, 3*len(names))
	}
}

// TestGoroutinesRaceAlong: goroutines that go over the same stores, each at the
// other's heels, lose no count of a name that either may add.
func TestGoroutinesRaceAlong(t *testing.T) {
	const goroutines = 2
	names := append(newNames(inlineMetrics, "race along "), RegoQueryEval, RegoQueryParse)
	for range 80 {
		stores := make([]store, 3000)
		together(goroutines, func(int) {
			for i := range stores {
				for j := range 1 + i%len(names) {
					stores[i].number(KindCounter, names[(i+j)%len(names)]).value.Add(1)
				}
			}
		})
		for i := range stores {
			total, metrics := int64(0), 0
			stores[i].each(func(_ *descriptor, c *cell, _ *histogram) bool {
				total += c.value.Load()
				metrics++
				return true
			})
			if want := 1 + i%len(names); metrics != want || total != int64(goroutines*want) {
				t.Fatalf("store %d: %d metrics and %d in all, want %d and %d", i, metrics, total, want, goroutines*want)
			}
		}
	}
}

// TestClearWhileNamesAppear: a collection may be cleared while others look
// names up in what was there before, and read it.
func TestClearWhileNamesAppear(t *testing.T) {
	for round := range 2000 {
		keepCatalog(func() { clearWhileNamesAppear(t, round) })
	}
}

func clearWhileNamesAppear(t *testing.T, round int) {
	names := newNames(1+round%14, "cleared ", round)
	m := New()
	for _, name := range names[:len(names)/2] {
		m.Timer(name)
	}
	together(3, func(g int) {
		switch g {
		case 0:
			m.Clear()
		case 1:
			for _, name := range names {
				m.Timer(name)
				m.Histogram(name).Update(1)
			}
		case 2:
			m.All()
			if _, err := m.MarshalJSON(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range names {
		if m.Timer(name) != m.Timer(name) || m.Histogram(name) != m.Histogram(name) {
			t.Fatalf("round %d: two handles of one name", round)
		}
	}
	if n := len(m.All()); n != 2*len(names) {
		t.Fatalf("round %d: %d metrics, want %d", round, n, 2*len(names))
	}
}

// TestClearedStoreIsStillUsed: whoever found the store of a collection before
// it was cleared goes on to look up and read what is in it.
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

// TestGoroutinesEnterNames: goroutines that enter a name into the catalog
// together, as happens when it appears for the second time in several
// collections, have one descriptor.
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

// TestLargeCollectionIsNotRemembered: of the names of a collection that has
// very many, only the first enter the catalog when they recur.
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
