// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// group holds the metrics of one kind. The first ones are in an array, whose
// capacity never changes, since comparing a few names is faster than a map.
type group[T any] struct {
	first []named[T]
	rest  map[string]*T
}

type named[T any] struct {
	name   string
	metric T
}

// get returns the metric of this name, a new one if there is none.
func (g *group[T]) get(name string) *T {
	for i := range g.first {
		if g.first[i].name == name {
			return &g.first[i].metric
		}
	}
	if n := len(g.first); n < cap(g.first) {
		g.first = g.first[:n+1]
		g.first[n].name = name
		return &g.first[n].metric
	}
	if metric, ok := g.rest[name]; ok {
		return metric
	}
	if g.rest == nil {
		g.rest = map[string]*T{}
	}
	metric := new(T)
	g.rest[name] = metric
	return metric
}

func (g *group[T]) len() int { return len(g.first) + len(g.rest) }

// all iterates over the metrics and their names.
func (g *group[T]) all(yield func(string, *T) bool) {
	for i := range g.first {
		if !yield(g.first[i].name, &g.first[i].metric) {
			return
		}
	}
	for name, metric := range g.rest {
		if !yield(name, metric) {
			return
		}
	}
}
