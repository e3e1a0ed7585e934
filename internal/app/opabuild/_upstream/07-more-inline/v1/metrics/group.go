// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"sync/atomic"
)

// group holds the metrics of one kind: the first few in an array beside it, ten
// more in another one, and all of them in a map once both are full. Most
// collections live as long as a decision, and have the same metrics looked up
// again and again, which takes no lock while those are in an array.
//
// The first array is handed to the methods, since its length differs by kind.
type group[T any] struct {
	// used is how many metrics are in the arrays, or inMap. A metric in an
	// array is not written any more once it is counted.
	used   atomic.Uint32
	more   atomic.Pointer[[10]named[T]]
	byName map[string]*T // guarded by the collection's lock
}

// get returns the metric of this name. If there is none, one is added, which
// init, if not nil, sets up.
func (g *group[T]) get(mtx *sync.Mutex, first []named[T], name string, init func(*T)) *T {
	if g.used.Load() != inMap {
		if m := g.find(first, name); m != nil {
			return m
		}
	}
	mtx.Lock()
	m := g.byName[name]
	if m == nil {
		m = g.add(first, name, init)
	}
	mtx.Unlock()
	return m
}

// add adds a metric of this name, which is not in the map. The lock is held.
func (g *group[T]) add(first []named[T], name string, init func(*T)) *T {
	if init == nil {
		init = func(*T) {}
	}
	if g.used.Load() != inMap {
		if m := g.find(first, name); m != nil { // another goroutine was faster
			return m
		}
	}
	if place := g.next(first); place != nil {
		init(&place.metric)
		place.name = name
		g.used.Add(1)
		return &place.metric
	}
	m := new(T)
	init(m)
	g.byName[name] = m
	return m
}

// next returns the next place in the arrays. It returns nil if there is none,
// and the map has the metrics. The lock is held.
func (g *group[T]) next(first []named[T]) *named[T] {
	n := g.used.Load()
	if n == inMap {
		return nil
	}
	if int(n) == len(first) {
		g.more.Store(new([10]named[T]))
	}
	if m := g.at(first, int(n)); m != nil {
		return m
	}
	g.byName = make(map[string]*T, n+1)
	g.each(first, func(name string, m *T) { g.byName[name] = m })
	g.used.Store(inMap)
	return nil
}

// at returns a place in the arrays, or nil behind the last.
func (g *group[T]) at(first []named[T], i int) *named[T] {
	if i < len(first) {
		return &first[i]
	}
	if more := g.more.Load(); i-len(first) < len(more) {
		return &more[i-len(first)]
	}
	return nil
}

// find returns the metric of this name in an array, or nil.
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
	if n == len(first) || n == inMap {
		return nil
	}
	more := g.more.Load()[:n-len(first)]
	for i := range more {
		if more[i].name == name {
			return &more[i].metric
		}
	}
	return nil
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
	for i := range int(n) {
		m := g.at(first, i)
		f(m.name, &m.metric)
	}
}

// clear removes the metrics. The arrays are not used again, since those who
// have looked a metric up may still be using it. The lock is held.
func (g *group[T]) clear() {
	g.byName = map[string]*T{}
	g.used.Store(inMap)
}
