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

// The thresholds of a search.
const (
	scanRounds = 8  // the clusters of a kind
	scanHas    = 10 // decisions with the feature in a cluster,
	scanRare   = 30 // or rarely slow decisions

	mostShare = 0.8 // with more of the decisions, a server or a client may also have most of what all have

	alwaysShare = 0.95 // of denied and other decisions of a client at all times,
	seldomShare = 0.7  // against those outside, at most
)

// endPrice is the penalty of each end of an interval.
var endPrice = math.Log(scanBins)

// judges reports whether a subject is of interest at all times. Paths, clients and
// keys differ in their outcomes, so most of them are compared only with other times.
func (c *cluster) judges() bool {
	switch {
	case c.kind == repeated:
		return false // some clients always ask the same
	case c.kind != shifted && c.kind != compiled || c.subject[ofServer] != anyName || c.subject[ofRevision] != anyName:
		return true
	case c.subject[ofClient] == anyName && c.subject[ofKey] == anyName:
		return false
	case c.outcome >= outcome.Undefined:
		return true
	}
	return c.in.rate() >= alwaysShare && c.out.rate() <= seldomShare
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
			if features[i].kind == k {
				m.setFeature(&features[i], removed)
				candidates = append(candidates, m.findCandidates()...)
			}
		}
		slices.SortStableFunc(candidates, func(a, b cluster) int { return cmp.Compare(b.rank, a.rank) })
		at := slices.IndexFunc(candidates, func(c cluster) bool {
			return c.score >= scanScore && s.check(&c, removed)
		})
		if at < 0 {
			break
		}
		c := m.narrow(candidates[at], removed)
		found = append(found, c)
		for i, e := range s.events {
			removed[i] = removed[i] || c.has(e)
		}
	}
	return found
}

// narrow looks for a cluster again where it is: on the path, the server or the
// client that has nearly all of what the cluster has too much of, so that it
// begins and ends with what happened there.
func (m *search) narrow(c cluster, removed []bool) cluster {
	m.setFeature(c.feature, removed)
	for a := range ofRevision {
		name, share := m.findOwner(&c, a)
		if c.subject[a] != anyName || share < nearlyAll || m.values[a][name].name == "" {
			continue
		}
		t := target{subject: c.subject, parent: all}
		if t.subject[a] = name; a != ofPath || c.subject != all {
			t.parent[ofPath] = t.subject[ofPath]
		}
		for _, i := range c.events {
			if m.events[i].names[a] == name {
				t.events = append(t.events, i)
			}
		}
		var others tally
		for i, e := range m.events {
			if m.x[i] >= 0 && t.parent.has(e) {
				others.add(float64(m.x[i]))
			}
		}
		n := m.findInterval(t, m.lookAt(t.events), others, others)
		if n.score > 0 && m.isNear(n.first, c.first) && m.isNear(n.last, c.last) && (a == ofPath || n.in.all < mostShare*c.in.all) {
			c = n
		}
	}
	return c
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

// setFeature looks at the decisions that are not in other clusters.
func (m *search) setFeature(f *feature, removed []bool) {
	m.feature = f
	for i, e := range m.events {
		if m.x[i] = -1; !removed[i] {
			m.x[i] = f.of(e)
		}
	}
}

// findCandidates returns subjects with their best intervals.
func (m *search) findCandidates() (found []cluster) {
	s, f := m.scan, m.feature
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
	consider := func(from, to int, revision int32) {
		// A few decisions at an end of the log are no other times.
		in, begins, ends := tally{float64(to - from), float64(m.has[to] - m.has[from])}, from > 0, to < n
		if in.has < scanHas || m.rare && in.has < scanRare || in.all < scanLeast || begins && from < scanLeast || ends && n-to < scanLeast {
			return
		}
		total, changes := others, 0.0
		if begins {
			total, changes = own, 1
		} else {
			revision = 0
		}
		if ends {
			total, changes = own, changes+1
		}
		out := total.minus(in)
		if out.all < scanLeast || !m.isRaised(in.rate(), out.rate(), revision > 0) {
			return
		}
		c := cluster{feature: m.feature, target: t, revision: revision, begins: begins, ends: ends, first: from, last: to, changes: changes, in: in, out: out}
		if c.price = penalty + changes*endPrice; revision > 0 { // this begin was not looked for among all
			c.price += math.Log(float64(len(m.values[ofRevision])-1)) - endPrice
		}
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
				consider(from, to, 0)
			}
		}
	}
	for range 2 {
		for from := 0; best.score > 0 && from < best.last; from++ {
			consider(from, best.last, 0)
		}
		for to := best.first + 1; best.score > 0 && to <= n; to++ {
			consider(best.first, to, 0)
		}
	}
	last := best.last
	for revision, v := range m.values[ofRevision] {
		if from, _ := slices.BinarySearch(m.at[:n], v.events[0]); revision > 0 {
			consider(from, n, int32(revision))
			consider(from, max(from, last), int32(revision))
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
	first, end := t.events[0], t.events[len(t.events)-1]
	if best.begins {
		first = m.at[best.first]
	}
	if best.ends {
		end = m.at[best.last-1]
	}
	best.first, best.last = int(first), int(end)
	return best
}
