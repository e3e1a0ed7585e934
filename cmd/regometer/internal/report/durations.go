// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"slices"
)

// took has the durations of decisions, sorted, each with a weight.
type took struct {
	all            []weighted
	weight, square float64 // the sum of the weights, and of their squares
	parts          [parts + 1]float64
}

type weighted struct{ took, weight float64 }

func (t *took) add(e *event, weight float64) {
	t.all = append(t.all, weighted{float64(e.took), weight})
	t.weight, t.square = t.weight+weight, t.square+weight*weight
	p := e.parts
	if p[ofHTTP] < 0 { // it did not finish
		p[ofHTTP] = p[ofEvaluation]
	}
	p[ofEvaluation] -= min(p[ofEvaluation], p[ofHTTP])
	rest := float64(e.took)
	for i, x := range p {
		t.parts[i] += weight * max(0, float64(x))
		rest -= float64(x)
	}
	t.parts[parts] += weight * max(0, rest)
}

// durationsOf returns the durations of the decisions inside, and of those on the
// side with which they are compared. These have weights by path, so that both have
// the same paths.
func (s *scan) durationsOf(sideOf func(*event) side, outside side) (in, out took) {
	paths := make([][inside + 1]float64, len(s.values[ofPath]))
	for _, e := range s.events {
		if e.took > 0 {
			paths[e.names[ofPath]][sideOf(e)]++
		}
	}
	for _, e := range s.events {
		n := paths[e.names[ofPath]]
		if e.took == 0 || n[inside] == 0 || n[outside] == 0 {
			continue
		}
		switch sideOf(e) {
		case inside:
			in.add(e, 1)
		case outside:
			out.add(e, n[inside]/n[outside])
		}
	}
	in.sort()
	out.sort()
	return in, out
}

func (t *took) sort() {
	slices.SortFunc(t.all, func(a, b weighted) int { return cmp.Compare(a.took, b.took) })
	for i := range t.parts {
		t.parts[i] /= max(1, t.weight)
	}
}

// quantile returns a quantile by the weights.
func (t *took) quantile(q float64) float64 {
	sum := 0.0
	for _, x := range t.all {
		if sum += x.weight; sum >= q*t.weight {
			return x.took
		}
	}
	return t.all[len(t.all)-1].took
}

// interval returns the 95 % interval of a quantile (Woodruff 1952).
func (t *took) interval(q float64) (low, high float64) {
	half := 1.96 * math.Sqrt(q*(1-q)*t.square) / max(1, t.weight)
	return t.quantile(max(0, q-half)), t.quantile(min(1, q+half))
}
