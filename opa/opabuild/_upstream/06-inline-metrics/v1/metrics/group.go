// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"iter"
	"sync"
	"sync/atomic"
)

// group holds the metrics of one kind: the first few in an array beside it, and
// all of them in a map once the array is full. Most collections live as long
// as a decision and need neither a map nor an allocation for each metric.
//
// The array is handed to the methods, since its length differs by kind.
type group[T any] struct {
	// used is how many metrics are in the array, or inMap. A metric in the
	// array is not written any more once it is counted, so that looking one up
	// takes no lock.
	used   atomic.Uint32
	byName map[string]*T // guarded by the collection's lock
}

const inMap = 1 << 31

type named[T any] struct {
	name   string
	metric T
}

// get returns the metric of this name, which is added if there is none.
func (g *group[T]) get(mtx *sync.Mutex, first []named[T], name string) *T {
	if m := g.find(first, name); m != nil {
		return m
	}
	mtx.Lock()
	defer mtx.Unlock()
	if n := g.used.Load(); n != inMap {
		// Another goroutine may have been faster.
		if m := g.find(first, name); m != nil {
			return m
		}
		if int(n) < len(first) {
			first[n].name = name
			g.used.Store(n + 1)
			return &first[n].metric
		}
		g.byName = make(map[string]*T, n+1)
		for i := range first {
			g.byName[first[i].name] = &first[i].metric
		}
		g.used.Store(inMap)
	}
	m, ok := g.byName[name]
	if !ok {
		m = new(T)
		if g.byName == nil {
			g.byName = map[string]*T{}
		}
		g.byName[name] = m
	}
	return m
}

// find returns the metric of this name in the array, or nil.
func (g *group[T]) find(first []named[T], name string) *T {
	n := g.used.Load()
	if n == inMap {
		return nil
	}
	for i := range first[:n] {
		if first[i].name == name {
			return &first[i].metric
		}
	}
	return nil
}

// len returns how many metrics there are. The lock is held.
func (g *group[T]) len() int {
	if n := g.used.Load(); n != inMap {
		return int(n)
	}
	return len(g.byName)
}

// all goes through the metrics. The lock is held.
func (g *group[T]) all(first []named[T]) iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		if n := g.used.Load(); n != inMap {
			for i := range first[:n] {
				if !yield(first[i].name, &first[i].metric) {
					return
				}
			}
			return
		}
		for name, m := range g.byName {
			if !yield(name, m) {
				return
			}
		}
	}
}

// clear removes the metrics. The array is not used again, since those who have
// looked a metric up may still be using it. The lock is held.
func (g *group[T]) clear() {
	g.byName = nil
	g.used.Store(inMap)
}
