// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file searches for clusters: which decisions, and from when to when. As
// in a spatial scan statistic (Kulldorff 1997), the candidate with the highest
// likelihood ratio, of two binomial rates to one, is the one that explains
// most. The ends of an interval are change points by maximum likelihood
// (Worsley 1983). Each name and each end has a penalty, as in the Bayesian
// information criterion (Yao 1988), so that one fault makes one cluster.

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// raised reports whether a rate is as high as that of a cluster must be.
func (f feature) raised(in, out tally) bool {
	a, b := in.rate(), out.rate()
	switch f.kind {
	case slow:
		return a >= b+slowPoints
	case failed:
		return in.has >= failedLeast && a >= failedTimes*b && a >= b+failedPoints
	default:
		return a >= alwaysShare && b <= seldomShare
	}
}

// tally counts decisions, and those that have a feature.
type tally struct{ all, has int }

func (t tally) plus(o tally) tally  { return tally{t.all + o.all, t.has + o.has} }
func (t tally) minus(o tally) tally { return tally{t.all - o.all, t.has - o.has} }
func (t tally) rate() float64       { return float64(t.has) / float64(max(1, t.all)) }

// likelihood returns the logarithm of the greatest likelihood of a rate.
func (s *scan) likelihood(t tally) float64 {
	return s.xlogx[t.has] + s.xlogx[t.all-t.has] - s.xlogx[t.all]
}

// The thresholds of a search.
const (
	scanScore  = 10 // the logarithm of the likelihood ratio, without penalties
	scanRounds = 3  // the clusters of a kind
)

// A cluster has decisions of a subject from a time to another.
type cluster struct {
	feature
	subject
	first, last  int  // the first and the last of scan.events
	begins, ends bool // after the first decision of the subject, before the last one
	in, out      tally
	score        float64
	factor       float64 // of slow: how many times as long decisions take
}

func (c *cluster) timed() bool { return c.begins || c.ends }

// has reports whether event i is in the cluster.
func (c *cluster) has(i int, e *event) bool { return i >= c.first && i <= c.last && c.subject.has(e) }

// findClusters returns what stands out, by kind.
func (s *scan) findClusters() []cluster {
	if len(s.events) < 2*scanLeast {
		return nil
	}
	var found [undefined + 1][]cluster
	var kinds sync.WaitGroup
	for k := range found {
		kinds.Go(func() { found[k] = s.findKind(kind(k)) })
	}
	kinds.Wait()
	return slices.Concat(found[:]...)
}

// findKind returns the clusters of a kind.
func (s *scan) findKind(k kind) (found []cluster) {
	removed := make([]bool, len(s.events)) // decisions that are in a cluster
	for range scanRounds {
		c, ok := s.findStrongest(k, removed)
		if !ok {
			break
		}
		found = append(found, c)
		for i := range s.events {
			removed[i] = removed[i] || c.has(i, &s.events[i])
		}
	}
	return found
}

// findStrongest returns the cluster of a kind with the highest score.
func (s *scan) findStrongest(k kind, removed []bool) (cluster, bool) {
	var candidates []cluster
	for _, f := range features {
		if f.kind == k {
			candidates = append(candidates, s.findCandidates(f, removed)...)
		}
	}
	slices.SortStableFunc(candidates, byScore)
	for _, c := range candidates {
		if c.score >= scanScore && s.check(&c, removed) {
			return c, true
		}
	}
	return cluster{}, false
}

// findCandidates returns subjects with their best intervals.
func (s *scan) findCandidates(f feature, removed []bool) (found []cluster) {
	x, total := make([]int8, len(s.events)), tally{}
	for i := range s.events {
		if x[i] = -1; !removed[i] {
			x[i] = f.of(&s.events[i])
		}
		if x[i] >= 0 {
			total = total.plus(tally{1, int(x[i])})
		}
	}
	if total.has < failedLeast {
		return nil
	}
	add := func(sub subject, least float64) {
		if c := s.findInterval(f, sub, x, total); c.score > least {
			found = append(found, c)
		}
	}
	addNames := func(from subject, least float64) {
		for _, a := range f.names {
			for n, v := range s.values[a] {
				if sub := from; from[a] == anyName && len(v.events) >= scanLeast && len(s.values[a]) > 1 {
					sub[a] = int32(n)
					add(sub, least)
				}
			}
		}
	}
	add(all, 0)
	addNames(all, 0)
	slices.SortStableFunc(found, byScore)
	if found = found[:min(len(found), 8)]; len(found) > 0 {
		// Two names must explain much more than one.
		addNames(found[0].subject, found[0].score+scanScore)
	}
	return found
}

func byScore(a, b cluster) int { return cmp.Compare(b.score, a.score) }

// narrow returns the indices of few decisions that include those of a subject.
func (s *scan) narrow(sub subject) []int32 {
	few := s.every
	for a, name := range sub {
		if name != anyName && len(s.values[a][name].events) < len(few) {
			few = s.values[a][name].events
		}
	}
	return few
}

// findInterval returns the interval of a subject with the highest score. The
// score is 0 if none qualifies.
func (s *scan) findInterval(f feature, sub subject, x []int8, total tally) cluster {
	few, bin := s.narrow(sub), -1
	at := make([]int, 0, len(few))         // the decisions of the subject
	before := make([]tally, 1, len(few)+1) // by index in at
	var bounds []int                       // indices in at where a slice of time begins, and its end
	for _, i := range few {
		if e := &s.events[i]; x[i] >= 0 && sub.has(e) {
			if e.bin > bin {
				bin, bounds = e.bin, append(bounds, len(at))
			}
			at = append(at, int(i))
			before = append(before, before[len(before)-1].plus(tally{1, int(x[i])}))
		}
	}
	bounds = append(bounds, len(at))
	if f.within {
		total = before[len(at)]
	}
	one := s.likelihood(total)
	penalty := 0.0
	for a, name := range sub {
		if name != anyName {
			penalty += math.Log(float64(len(s.values[a])))
		}
	}
	best := cluster{feature: f, subject: sub}
	search := func(starts, ends []int) {
		for _, i := range starts {
			for _, j := range ends {
				in := before[max(i, j)].minus(before[i])
				out := total.minus(in)
				if in.all < scanLeast || out.all < scanLeast || !f.raised(in, out) {
					continue
				}
				score := s.likelihood(in) + s.likelihood(out) - one - penalty
				for _, inside := range []bool{i > 0, j < len(at)} {
					if inside {
						score -= math.Log(scanBins)
					}
				}
				if score > best.score {
					best.score, best.in, best.out = score, in, out
					best.first, best.last, best.begins, best.ends = i, j, i > 0, j < len(at)
				}
			}
		}
	}
	near := func(i int) (found []int) { // from the bound before to the bound after
		k, _ := slices.BinarySearch(bounds, i)
		for i := bounds[max(k-1, 0)]; i <= bounds[min(k+1, len(bounds)-1)]; i++ {
			found = append(found, i)
		}
		return found
	}
	search(bounds, bounds)
	if best.score == 0 {
		return best
	}
	for range 2 {
		search(near(best.first), []int{best.last})
		search([]int{best.first}, near(best.last))
	}
	best.first, best.last = at[best.first], at[best.last-1]
	return best
}
