// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
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

const inMap = 1 << 30

type named[T any] struct {
	name   string
	metric T
}

// get returns the metric of this name, which is added if there is none.
func (g *group[T]) get(mtx *sync.Mutex, first []named[T], name string) *T {
	if g.used.Load() != inMap {
		if m := g.find(first, name); m != nil {
			return m
		}
	}
	mtx.Lock()
	m := g.byName[name]
	if m == nil {
		m = g.add(first, name)
	}
	mtx.Unlock()
	return m
}

// add adds a metric of this name, which is not in the map. The lock is held.
func (g *group[T]) add(first []named[T], name string) *T {
	if n := g.used.Load(); n != inMap {
		if m := g.find(first, name); m != nil { // another goroutine was faster
			return m
		}
		if int(n) < len(first) {
			first[n].name = name
			g.used.Store(n + 1)
			return &first[n].metric
		}
		g.byName = make(map[string]*T, n+1)
		g.each(first, func(name string, m *T) { g.byName[name] = m })
		g.used.Store(inMap)
	}
	m := new(T)
	g.byName[name] = m
	return m
}

// find returns the metric of this name in the array, or nil.
func (g *group[T]) find(first []named[T], name string) *T {
	n := int(g.used.Load())
	for i := range first {
		if i == n {
			return nil
		}
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

// each calls f with every metric. The lock is held.
func (g *group[T]) each(first []named[T], f func(name string, m *T)) {
	n := g.used.Load()
	if n == inMap {
		for name, m := range g.byName {
			f(name, m)
		}
		return
	}
	for i := range first[:n] {
		f(first[i].name, &first[i].metric)
	}
}

// clear removes the metrics. The array is not used again, since those who
// have looked a metric up may still be using it. The lock is held.
func (g *group[T]) clear() {
	g.byName = map[string]*T{}
	g.used.Store(inMap)
}
