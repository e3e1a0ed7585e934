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

	"github.com/regometer/regometer/outcome"
)

// tally counts decisions, and those that have a feature, or sums up what they
// have of it.
type tally struct{ all, has float64 }

func (t tally) plus(o tally) tally  { return tally{t.all + o.all, t.has + o.has} }
func (t tally) minus(o tally) tally { return tally{t.all - o.all, t.has - o.has} }
func (t tally) rate() float64       { return t.has / max(1, t.all) }

// add adds a decision, unless it does not count.
func (t *tally) add(x float64) {
	if x == x {
		t.all, t.has = t.all+1, t.has+x
	}
}

// expectLeast is the least number of decisions whose rate is expected of others.
const expectLeast = 10

// expect returns the rate, or another value if there is too little data.
func (t tally) expect(otherwise float64) float64 {
	if t.all < expectLeast {
		return otherwise
	}
	return t.rate()
}

// likelihood returns the logarithm of the greatest likelihood of a rate.
func (s *scan) likelihood(t tally) float64 {
	return s.xlogx[int(t.has)] + s.xlogx[int(t.all-t.has)] - s.xlogx[int(t.all)]
}

// ratio returns the logarithm of the likelihood ratio of two rates to one, that of
// total.
func (s *scan) ratio(in, total tally) float64 {
	return s.likelihood(in) + s.likelihood(total.minus(in)) - s.likelihood(total)
}

// The thresholds of a search.
const (
	scanScore  = 10 // the logarithm of the likelihood ratio, without penalties
	scanRounds = 8  // the clusters of a kind
	scanHas    = 10 // decisions with the feature in a cluster,
	scanRare   = 30 // or rarely slow decisions
)

// endPrice is the penalty of each end of an interval.
var endPrice = math.Log(scanBins)

// A cluster has decisions of a target from a time to another.
type cluster struct {
	*feature
	target
	first, last  int     // the first and the last of scan.events
	revised      bool    // it begins with a revision
	begins, ends bool    // after the first decision of the subject, before the last one
	changes      float64 // the number of these ends, which are change points
	in, out      tally
	score, price float64   // the price of its names and ends, which is taken off the score
	again        []cluster // others that are like it, at other times
	beside       []cluster // the same on other paths, or servers that also stayed
	stays        bool      // it stayed as it was when the others changed, as findUnchanged says
	// rank is the score in comparison with all others of the parent, so that
	// clusters with and without times can be ranked.
	rank float64
}

// timed reports whether a cluster is compared with its subject at other times.
func (c *cluster) timed() bool { return (c.begins || c.ends) && !c.stays }

// A side says where a decision is for a cluster.
type side uint8

const (
	elsewhere side = iota
	peer           // in the parent of the subject only
	before         // in the subject, at other times
	inside
)

func (c *cluster) side(e *event) side {
	during := e.at >= c.first && e.at <= c.last
	switch {
	case !c.parent.has(e) || c.stays && !during:
		return elsewhere
	case !c.subject.has(e):
		return peer
	case !during:
		return before
	}
	return inside
}

func (c *cluster) has(e *event) bool { return c.side(e) == inside }

// outside returns the side with which a cluster is compared: its subject at other
// times, or else its parent.
func (c *cluster) outside() side {
	if c.timed() {
		return before
	}
	return peer
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

// findKind returns the clusters of a kind, the one with the highest rank first.
func (s *scan) findKind(k kind) (found []cluster) {
	n := len(s.events)
	removed := make([]bool, n) // decisions that are in a cluster
	m := &search{scan: s, x: make([]int8, n), at: make([]int32, n), has: make([]int32, n+1)}
	for range scanRounds {
		var candidates []cluster
		for i := range features {
			if m.feature = &features[i]; m.kind == k {
				candidates = append(candidates, m.findCandidates(removed)...)
			}
		}
		slices.SortStableFunc(candidates, func(a, b cluster) int { return cmp.Compare(b.rank, a.rank) })
		at := slices.IndexFunc(candidates, func(c cluster) bool {
			return c.score >= scanScore && s.check(&c, removed)
		})
		if at < 0 {
			break
		}
		c := candidates[at]
		found = append(found, c)
		for i, e := range s.events {
			removed[i] = removed[i] || c.has(e)
		}
	}
	return found
}

// A search looks for the clusters of a feature.
type search struct {
	*scan
	*feature
	x []int8 // by event: as feature.of, or -1 if the event is in another cluster

	// Of the target at which it looks: the decisions that count, how many before
	// each of them and in all have the feature, and how many are before each slice
	// of time and in all.
	at, has []int32
	slices  [scanBins + 1]int
}

// findCandidates returns subjects with their best intervals.
func (m *search) findCandidates(removed []bool) (found []cluster) {
	s, f := m.scan, m.feature
	for i, e := range s.events {
		if m.x[i] = -1; !removed[i] {
			m.x[i] = f.of(e)
		}
	}
	sums := map[subject]tally{}
	for i, t := range s.targets {
		client, revision, key := t.subject[ofClient], t.subject[ofRevision], t.subject[ofKey]
		if client != anyName && f.kind != slow && s.values[ofClient][client].name == "" || revision != anyName && f.kind == compiled { // all revisions compile
			continue
		}
		// Decisions without the field, such as those of queries, are of another kind.
		if key != anyName && (f.kind == shifted && !s.keysJudge || f.kind != slow && s.values[ofKey][key].name == none) {
			continue
		}
		own := m.lookAt(t.events)
		if i == 0 && own.has < scanHas {
			break
		}
		if t.parent == all {
			sums[t.subject] = own
		}
		base := sums[t.parent]
		if t.parent == all && f.kind == shifted && t.subject[ofServer] == anyName && revision == anyName { // paths, clients and keys differ
			base = own
		}
		if c := m.findInterval(t, own, sums[t.parent], base); c.score > 0 {
			found = append(found, c)
		}
	}
	return found
}

// lookAt looks at the decisions of a target, and returns their tally.
func (m *search) lookAt(events []int32) tally {
	bin, n, has := 0, 0, int32(0)
	for _, i := range events {
		if x := m.x[i]; x >= 0 {
			for ; bin <= int(m.bin[i]); bin++ {
				m.slices[bin] = n
			}
			has += int32(x)
			m.at[n], m.has[n+1] = i, has
			n++
		}
	}
	for ; bin <= scanBins; bin++ {
		m.slices[bin] = n
	}
	return tally{float64(n), float64(has)}
}

// findInterval returns the interval of a target with the highest score, in
// comparison with itself at other times, or with the others. The score is 0 if
// none qualifies. The rank is in comparison with base. The first and the last of
// the interval are looked for among the ends of slices of time, and then among
// all decisions, one after the other.
func (m *search) findInterval(t target, own, others, base tally) cluster {
	if own.has < scanHas {
		return cluster{}
	}
	penalty, n := 0.0, int(own.all)
	for a, name := range t.subject {
		if name != anyName {
			penalty += math.Log(float64(len(m.values[a])))
		}
	}
	var best, fell, whole cluster
	revised := false
	consider := func(from, to int) {
		// A few decisions at an end of the log are no other times.
		in, begins, ends := tally{float64(to - from), float64(m.has[to] - m.has[from])}, from > 0, to < n
		if in.has < scanHas || m.rare && in.has < scanRare || in.all < scanLeast || begins && from < scanLeast || ends && n-to < scanLeast {
			return
		}
		total, changes := others, 0.0
		if begins {
			total, changes = own, 1
		}
		if ends {
			total, changes = own, changes+1
		}
		out := total.minus(in)
		if out.all < scanLeast || !m.isRaised(in.rate(), out.rate(), revised) {
			return
		}
		c := cluster{feature: m.feature, target: t, revised: revised, begins: begins, ends: ends, first: from, last: to, changes: changes, in: in, out: out}
		c.price = penalty + changes*endPrice
		c.score = m.ratio(in, total) - c.price
		c.rank = max(c.score, m.ratio(in, base)-c.price)
		switch {
		case c.kind == shifted && c.outcome <= outcome.Neither && !begins && ends:
			if c.score > fell.score {
				fell = c
			}
		case c.timed() && c.score > best.score:
			best = c
		case !c.timed() && c.judges():
			whole = c
		}
	}
	for i, from := range m.slices[:scanBins] {
		for k, to := range m.slices[i+1:] {
			if from < m.slices[i+1] && to > m.slices[i+k] { // neither is empty
				consider(from, to)
			}
		}
	}
	revised = m.kind == shifted
	for _, v := range m.values[ofRevision][min(1, len(m.values[ofRevision])):] {
		from, _ := slices.BinarySearch(m.at[:n], v.events[0])
		consider(from, n)
	}
	revised = best.revised
	for range 2 {
		for from := 0; best.score > 0 && from < best.last; from++ {
			consider(from, best.last)
		}
		for to := best.first + 1; best.score > 0 && to <= n; to++ {
			consider(best.first, to)
		}
	}
	if fell.score > best.score-scanScore {
		best = cluster{} // people ask for what changed: the outcome that rose in the end
	}
	// A part of its time may explain as much of the difference from the others.
	if whole.rank > max(best.rank, m.ratio(best.in, others)-best.price) {
		best = whole
	}
	// Where it has no end, it also has what is in other clusters.
	first, last := int(t.events[0]), int(t.events[len(t.events)-1])
	if best.begins {
		first = int(m.at[best.first])
	}
	if best.ends {
		last = int(m.at[best.last-1])
	}
	best.first, best.last = first, last
	return best
}
