// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file decides whether a cluster differs by more than parts of the log
// usually do.

import (
	"math"
	"slices"
)

// The thresholds that a cluster must reach.
const (
	failedLeast  = 10   // errors
	failedTimes  = 3    // the rate divided by the rate outside
	failedPoints = 0.02 // the rate minus the rate outside
	alwaysShare  = 0.95 // denied or undefined inside
	seldomShare  = 0.7  // denied or undefined outside, at most
	slowLow      = 2.5  // slow: the duration divided by that of the path's fastest tenth
	slowHigh     = 8    // the same, for a cluster among other slow decisions
	slowPoints   = 0.15 // the share of slow decisions minus the share outside
	slowTimes    = 1.5  // the factor of an interval
	serverTimes  = 2    // the factor of a server from the first decision to the last
	slowNoise    = 2.5  // the logarithm of the factor divided by the usual differences
)

// check reports whether a cluster differs by more than parts of the log
// usually do.
func (s *scan) check(c *cluster, removed []bool) bool {
	excess := s.measureExcess(c, removed)
	in, out := s.split(c, excess, c.subject)
	itself := c.timed() && len(out) >= scanLeast // at other times
	if !itself && !c.within {
		in, out = s.split(c, excess, all)
	}
	if len(in) < scanLeast || len(out) < scanLeast {
		return false
	}
	difference := mean(in) - mean(out)
	switch c.kind {
	case slow:
		c.factor = math.Exp(difference)
		if c.factor < slowTimes || !itself && c.factor < serverTimes {
			return false
		}
		size := min(max(min(len(in), len(out))/8, 10), 100)
		inside, outside := means(in, size), means(out, size)
		if len(inside) < 3 || len(outside) < 3 {
			return false
		}
		usual, high := nearest(outside, 0.5), nearest(outside, 0.95)
		return nearest(inside, 0.25) > high && mean(in)-usual >= slowNoise*(high-usual)
	case failed:
		if difference < failedPoints || c.in.rate() < failedTimes*(c.in.rate()-difference) {
			return false
		}
		// As for counts whose variance is above that of the Poisson
		// distribution.
		size := max(min(len(in), len(out)/8), 1)
		usual, p, chi2 := mean(out), c.out.rate(), 0.0
		rates := means(out, size)
		for _, rate := range rates {
			chi2 += (rate - usual) * (rate - usual) * float64(size)
		}
		noise := chi2 / (max(p*(1-p), 1/float64(len(out))) * float64(max(1, len(rates)-1)))
		return c.score >= scanScore*max(1, noise)
	default:
		return difference >= alwaysShare-seldomShare
	}
}

// split returns the excess of the decisions in a cluster, and of those outside
// that have the names of rest.
func (s *scan) split(c *cluster, excess []float64, rest subject) (in, out []float64) {
	for i, x := range excess {
		switch e := &s.events[i]; {
		case math.IsNaN(x):
		case c.has(i, e):
			in = append(in, x)
		case rest.has(e):
			out = append(out, x)
		}
	}
	return in, out
}

// measureExcess returns by how much each decision exceeds what is expected of
// its path and its time, or NaN if this is unknown.
func (s *scan) measureExcess(c *cluster, removed []bool) []float64 {
	excess := make([]float64, len(s.events))
	paths := make([]average, len(s.values[ofPath]))
	for i := range s.events {
		e := &s.events[i]
		x := c.of(e)
		switch excess[i] = float64(x); {
		case removed[i] || x < 0:
			excess[i] = math.NaN()
		case c.kind == slow:
			excess[i] = e.over
		}
		if !c.has(i, e) {
			paths[e.names[ofPath]].add(excess[i])
		}
	}
	var others [scanBins]average // at the same time
	for i := range s.events {
		e := &s.events[i]
		if excess[i] -= paths[e.names[ofPath]].expect(math.NaN()); !c.subject.has(e) {
			others[e.bin].add(excess[i])
		}
	}
	if c.kind == slow {
		for i := range s.events {
			excess[i] -= others[s.events[i].bin].expect(0)
		}
	}
	return excess
}

// average is the mean of values that are known.
type average struct{ n, sum float64 }

func (a *average) add(x float64) {
	if !math.IsNaN(x) {
		a.n, a.sum = a.n+1, a.sum+x
	}
}

// expect returns the mean, or another value if there is too little data.
func (a *average) expect(otherwise float64) float64 {
	if a.n < 10 {
		return otherwise
	}
	return a.sum / a.n
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// means returns the sorted means of runs of values. It leaves out the rest.
func means(values []float64, size int) (found []float64) {
	for run := range slices.Chunk(values, size) {
		if len(run) == size {
			found = append(found, mean(run))
		}
	}
	slices.Sort(found)
	return found
}

// findCommon returns the name of an attribute that nearly all decisions of a
// cluster have, and hardly any other decision of its subject, or "".
func (s *scan) findCommon(c *cluster, a int) string {
	if c.subject[a] != anyName {
		return s.values[a][c.subject[a]].name
	}
	in, out := make([]int, len(s.values[a])), make([]int, len(s.values[a]))
	total, others := 0, 0
	for i := range s.events {
		if e := &s.events[i]; c.has(i, e) {
			in[e.names[a]]++
			total++
		} else if c.subject.has(e) {
			out[e.names[a]]++
			others++
		}
	}
	for n, v := range s.values[a] {
		if float64(in[n]) >= 0.95*float64(total) && float64(out[n]) <= 0.05*float64(others) {
			return v.name
		}
	}
	return ""
}
