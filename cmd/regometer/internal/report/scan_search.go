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
	again        int // how many others are like it, at other times
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

// A search looks for the clusters of a feature.
type search struct {
	*scan
	*feature
	x []int8 // by event: as feature.of, or -1 if the event is in another cluster
	// Memory that is used again.
	at     []int32
	before []tally
}

// bins has a tally for each slice of time.
type bins [scanBins]tally

func (b *bins) sum() (sum tally) {
	for _, t := range b {
		sum = sum.plus(t)
	}
	return sum
}

// tally returns the tallies of decisions that count.
func (m *search) tally(events []int32) *bins {
	b := new(bins)
	for _, i := range events {
		if x := m.x[i]; x >= 0 {
			t := &b[m.bin[i]]
			t.all, t.has = t.all+1, t.has+int(x)
		}
	}
	return b
}

// findCandidates returns subjects with their best intervals.
func (s *scan) findCandidates(f *feature, removed []bool) (found []cluster) {
	m := &search{scan: s, feature: f, x: make([]int8, len(s.events))}
	for i := range s.events {
		if m.x[i] = -1; !removed[i] {
			m.x[i] = f.of(&s.events[i])
		}
	}
	whole := m.tally(s.every)
	total := whole.sum()
	if total.has < scanHas {
		return nil
	}
	sums := map[subject]tally{all: total}
	add := func(t target, own *bins, base tally) {
		if c := m.findInterval(t, own, sums[t.parent], base); c.score > 0 {
			found = append(found, c)
		}
	}
	add(target{all, all, s.every}, whole, total)
	for _, t := range s.targets {
		client, revision := t.subject[ofClient], t.subject[ofRevision]
		if client != anyName && f.kind != slow && s.values[ofClient][client].name == "" || revision != anyName && f.kind == compiled { // all revisions compile
			continue
		}
		own := m.tally(t.events)
		base := sums[t.parent]
		if t.parent == all {
			sums[t.subject] = own.sum()
			if f.kind == shifted && t.subject[ofServer] == anyName && t.subject[ofRevision] == anyName { // paths, clients and keys differ
				base = own.sum()
			}
		}
		add(t, own, base)
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

// findInterval returns the interval of a target with the highest score, in
// comparison with itself at other times, or with the others. The score is 0 if
// none qualifies. The rank is in comparison with base. The first and the last of
// the interval are looked for among the ends of slices of time, and then among
// the decisions of the slices around them.
func (m *search) findInterval(of target, slice *bins, others, base tally) cluster {
	var bounds [scanBins + 1]tally // before each slice of time, and after the last one
	for i, t := range slice {
		bounds[i+1] = bounds[i].plus(t)
	}
	own := bounds[scanBins]
	if own.has < scanHas {
		return cluster{}
	}
	penalty := 0.0
	for a, name := range of.subject {
		if name != anyName {
			penalty += math.Log(float64(len(m.values[a])))
		}
	}
	var best, whole cluster
	consider := func(from, to tally) {
		c := cluster{feature: *m.feature, subject: of.subject, parent: of.parent, begins: from.all > 0, ends: to.all < own.all, first: from.all, last: to.all, in: to.minus(from)}
		// A few decisions at an end of the log are no other times.
		if c.in.has < scanHas || m.rare && c.in.has < scanRare || c.in.all < scanLeast ||
			c.begins && from.all < scanLeast || c.ends && own.all-to.all < scanLeast {
			return
		}
		total, price := others, penalty
		if c.timed() {
			total = own
		}
		if c.out = total.minus(c.in); c.out.all < scanLeast || !m.raised(c.in.rate(), c.out.rate()) || !m.judges(&c) {
			return
		}
		for _, inside := range []bool{c.begins, c.ends} {
			if inside {
				price += math.Log(scanBins)
			}
		}
		ratio := func(total, out tally) float64 {
			return m.likelihood(c.in) + m.likelihood(out) - m.likelihood(total) - price
		}
		c.score = ratio(total, c.out)
		c.rank = max(c.score, ratio(base, base.minus(c.in)))
		if !c.timed() {
			whole = c
		} else if c.score > best.score {
			best = c
		}
	}
	for i, from := range bounds[:scanBins] {
		if slice[i].all == 0 {
			continue
		}
		for k, to := range bounds[i+1:] {
			if slice[i+k].all > 0 {
				consider(from, to)
			}
		}
	}
	if best.score > 0 {
		before := m.series(of.events)
		near := func(at int) []tally { // in the slices before and after
			low, high := 0, own.all
			for i := range bounds {
				if b, c := bounds[i].all, bounds[scanBins-i].all; b < at {
					low = b
				} else if c > at {
					high = c
				}
			}
			return before[low : high+1]
		}
		for range 2 {
			for _, from := range near(best.first) {
				consider(from, before[best.last])
			}
			for _, to := range near(best.last) {
				consider(before[best.first], to)
			}
		}
	}
	if whole.rank > best.rank {
		best = whole
	}
	if best.score <= 0 {
		return cluster{}
	}
	at := m.at
	if !best.timed() {
		m.series(of.events)
		at = m.at
	}
	best.first, best.last = int(at[best.first]), int(at[best.last-1])
	return best
}

// series sets at to those of some decisions that count, and returns the tallies
// before each of them and after all.
func (m *search) series(events []int32) []tally {
	m.at, m.before = m.at[:0], append(m.before[:0], tally{})
	for _, i := range events {
		if x := m.x[i]; x >= 0 {
			m.at = append(m.at, i)
			m.before = append(m.before, m.before[len(m.before)-1].plus(tally{1, int(x)}))
		}
	}
	return m.before
}
