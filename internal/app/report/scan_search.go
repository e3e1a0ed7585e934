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
	scanRounds = 8  // the clusters of a kind
	scanHas    = 10 // decisions with the feature in a cluster,
	scanRare   = 30 // or rarely slow decisions
)

// A cluster has decisions of a subject from a time to another.
type cluster struct {
	feature
	subject
	first, last  int     // the first and the last of scan.events
	begins, ends bool    // after the first decision of the subject, before the last one
	parent       subject // with whose decisions it is compared at all times
	in, out      tally
	score        float64
	// rank is the score in comparison with all others of the parent, so that
	// clusters with and without times can be ranked.
	rank float64
}

func (c *cluster) timed() bool { return c.begins || c.ends }

// has reports whether event i is in the cluster.
func (c *cluster) has(i int, e *event) bool { return i >= c.first && i <= c.last && c.subject.has(e) }

// others returns the subject of the decisions with which a cluster is compared:
// itself at other times, or else its parent.
func (c *cluster) others() subject {
	if c.timed() {
		return c.subject
	}
	return c.parent
}

// findClusters returns what stands out, by kind.
func (s *scan) findClusters() []cluster {
	if len(s.events) < 2*scanLeast {
		return nil
	}
	var found [kinds][]cluster
	var all sync.WaitGroup
	for k := range found {
		all.Go(func() { found[k] = s.findKind(kind(k)) })
	}
	all.Wait()
	return slices.Concat(found[:]...)
}

// findKind returns the clusters of a kind.
func (s *scan) findKind(k kind) (found []cluster) {
	removed := make([]bool, len(s.events)) // decisions that are in a cluster
	for range scanRounds {
		c, ok := s.findStrongest(k, found, removed)
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

// findStrongest returns the cluster of a kind with the highest rank. What is left
// of the subject of a cluster that was found is no other one.
func (s *scan) findStrongest(k kind, found []cluster, removed []bool) (cluster, bool) {
	var candidates []cluster
	for i := range features {
		if f := &features[i]; f.kind == k {
			candidates = append(candidates, s.findCandidates(f, removed)...)
		}
	}
	slices.SortStableFunc(candidates, byRank)
	for _, c := range candidates {
		rest := !c.timed() && slices.ContainsFunc(found, func(f cluster) bool { return f.subject == c.subject })
		if c.score >= scanScore && !rest && s.check(&c, removed) {
			return c, true
		}
	}
	return cluster{}, false
}

// findCandidates returns subjects with their best intervals.
func (s *scan) findCandidates(f *feature, removed []bool) (found []cluster) {
	x, total := make([]int8, len(s.events)), tally{}
	m := series{make([]int32, 0, len(x)), make([]tally, 1, len(x)+1)}
	for i := range s.events {
		if x[i] = -1; !removed[i] {
			x[i] = f.of(&s.events[i])
		}
		if x[i] >= 0 {
			total = total.plus(tally{1, int(x[i])})
		}
	}
	if total.has < scanHas {
		return nil
	}
	add := func(sub, parent subject, others, base tally, least float64) {
		if c := s.findInterval(f, sub, parent, x, others, base, m); c.score > 0 && c.rank > least {
			found = append(found, c)
		}
	}
	count := func(of subject) (others tally) {
		for _, i := range s.narrow(of) {
			if x[i] >= 0 && of.has(&s.events[i]) {
				others = others.plus(tally{1, int(x[i])})
			}
		}
		return others
	}
	addNames := func(from subject, others tally, least float64) {
		for _, a := range f.names {
			for n, v := range s.values[a] {
				if a == ofRevision && n == 0 {
					continue // the first one: what differs came with another one
				}
				if sub := from; from[a] == anyName && len(v.events) >= scanLeast && len(s.values[a]) > 1 && (v.name != "" || a == ofPath || f.kind == slow && a == ofClient) {
					sub[a] = int32(n)
					base := others
					if f.kind == shifted && (a == ofPath || a == ofClient || a == ofKey) { // which differ
						base = count(sub)
					}
					add(sub, from, others, base, least)
				}
			}
		}
	}
	add(all, all, total, total, 0)
	addNames(all, total, 0)
	slices.SortStableFunc(found, byRank)
	if found = found[:min(len(found), 8)]; len(found) > 0 && found[0].subject[ofPath] != anyName {
		// Two names must explain much more than one.
		addNames(found[0].subject, count(found[0].subject), found[0].rank+scanScore)
	}
	// Others of the path are the right ones to compare with, if there are some.
	least := 0.0
	if len(found) > 0 {
		least = found[0].rank + scanScore
	}
	for _, pair := range s.pairs {
		path := all
		path[ofPath] = pair[ofPath]
		add(pair, path, count(path), count(path), least)
	}
	return found
}

func byRank(a, b cluster) int { return cmp.Compare(b.rank, a.rank) }

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

// series has the decisions of a subject that count, and the tallies before each
// and after all, of which the first is 0. Its memory is used again.
type series struct {
	at     []int32
	before []tally
}

// findInterval returns the interval of a subject with the highest score, in
// comparison with itself at other times, or with the others. The score is 0 if
// none qualifies. The rank is in comparison with base.
func (s *scan) findInterval(f *feature, sub, parent subject, x []int8, others, base tally, m series) cluster {
	few, bin := s.narrow(sub), int32(-1)
	at, before := m.at, m.before
	var bounds []int // indices in at where a slice of time begins, and its end
	for _, i := range few {
		if e := &s.events[i]; x[i] >= 0 && sub.has(e) {
			if e.bin > bin {
				bin, bounds = e.bin, append(bounds, len(at))
			}
			at = append(at, i)
			before = append(before, before[len(before)-1].plus(tally{1, int(x[i])}))
		}
	}
	bounds = append(bounds, len(at))
	own := before[len(at)]
	penalty := 0.0
	for a, name := range sub {
		if name != anyName {
			penalty += math.Log(float64(len(s.values[a])))
		}
	}
	var best, whole cluster
	consider := func(i, j int) {
		c := cluster{feature: *f, subject: sub, parent: parent, begins: i > 0, ends: j < len(at), first: i, last: j, in: before[j].minus(before[i])}
		total := others
		if c.timed() {
			total = own
		}
		c.out = total.minus(c.in)
		// A few decisions at an end of the log are no other times.
		if c.begins && before[i].all < scanLeast || c.ends && own.all-before[j].all < scanLeast {
			return
		}
		if c.in.has < scanHas || f.rare && c.in.has < scanRare || c.in.all < scanLeast || c.out.all < scanLeast || !f.raised(c.in.rate(), c.out.rate()) || !f.judges(&c) {
			return
		}
		ends := 0.0
		for _, inside := range []bool{c.begins, c.ends} {
			if inside {
				ends += math.Log(scanBins)
			}
		}
		ratio := func(total, out tally) float64 {
			return s.likelihood(c.in) + s.likelihood(out) - s.likelihood(total) - penalty - ends
		}
		c.score = ratio(total, c.out)
		c.rank = max(c.score, ratio(base, base.minus(c.in)))
		if !c.timed() {
			whole = c
		} else if c.score > best.score {
			best = c
		}
	}
	search := func(starts, ends []int) {
		for _, i := range starts {
			for _, j := range ends {
				consider(i, max(i, j))
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
	if best.score > 0 {
		for range 2 {
			search(near(best.first), []int{best.last})
			search([]int{best.first}, near(best.last))
		}
	}
	if whole.rank > best.rank {
		best = whole
	}
	if best.score <= 0 {
		return cluster{}
	}
	best.first, best.last = int(at[best.first]), int(at[best.last-1])
	return best
}
