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
	took, weights  []float64
	weight, square float64 // the sum of the weights, and of their squares
	parts          [parts + 1]float64
}

func (t *took) add(e *event, weight float64) {
	t.took, t.weights = append(t.took, float64(e.took)), append(t.weights, weight)
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

// durationsOf returns the durations of some decisions, and of those with which
// they are compared. These have weights by path, so that both have the same
// paths.
func (s *scan) durationsOf(isIn, isOut func(i int, e *event) bool) (in, out took) {
	paths := make([][2]float64, len(s.values[ofPath]))
	for i := range s.events {
		if e := &s.events[i]; e.took > 0 {
			if isIn(i, e) {
				paths[e.names[ofPath]][0]++
			} else if isOut(i, e) {
				paths[e.names[ofPath]][1]++
			}
		}
	}
	for i := range s.events {
		e := &s.events[i]
		if n := paths[e.names[ofPath]]; e.took > 0 && n[0] > 0 && n[1] > 0 {
			if isIn(i, e) {
				in.add(e, 1)
			} else if isOut(i, e) {
				out.add(e, n[0]/n[1])
			}
		}
	}
	in.sort()
	out.sort()
	return in, out
}

func (t *took) sort() {
	order := make([]int, len(t.took))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(t.took[a], t.took[b]) })
	x, w := make([]float64, len(order)), make([]float64, len(order))
	for i, from := range order {
		x[i], w[i] = t.took[from], t.weights[from]
	}
	t.took, t.weights = x, w
	for i := range t.parts {
		t.parts[i] /= max(1, t.weight)
	}
}

// quantile returns a quantile by the weights.
func (t *took) quantile(q float64) float64 {
	sum := 0.0
	for i, w := range t.weights {
		if sum += w; sum >= q*t.weight {
			return t.took[i]
		}
	}
	return t.took[len(t.took)-1]
}

func (t *took) median() float64 { return t.quantile(0.5) }

// interval returns the 95 % interval of the median (Woodruff 1952).
func (t *took) interval() (low, high float64) {
	half := 0.98 * math.Sqrt(t.square) / max(1, t.weight)
	return t.quantile(max(0, 0.5-half)), t.quantile(min(1, 0.5+half))
}
