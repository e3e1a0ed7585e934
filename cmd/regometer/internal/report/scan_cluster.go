// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file has what a scan finds, clusters, and counts their decisions.

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

// A cluster has decisions of a target from a time to another.
type cluster struct {
	*feature
	target
	first, last  int     // the first and the last of scan.events
	revision     int32   // with which it begins, or 0: the first one is no begin
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

// sums returns what the decisions of a cluster have of its feature, by name of an
// attribute, and by side.
func (s *scan) sums(c *cluster, attribute int) [][inside + 1]tally {
	names := make([][inside + 1]tally, len(s.values[attribute]))
	for _, e := range s.events {
		if x := c.of(e); x >= 0 {
			names[e.names[attribute]][c.side(e)].add(float64(x))
		}
	}
	return names
}

// isNear reports whether two decisions are as near as two ends of one thing may be.
func (s *scan) isNear(a, b int) bool { return max(a-b, b-a) <= len(s.events)/scanBins }

// nearlyAll is the least share of nearly all decisions.
const nearlyAll = 0.95

// findOwner returns the name of an attribute that has most of what a cluster has
// too much of, and its share of that.
func (s *scan) findOwner(c *cluster, a int) (name int32, share float64) {
	most, sum := 0.0, 0.0
	for n, of := range s.sums(c, a) {
		out := of[c.outside()]
		extra := max(0, of[inside].has-of[inside].all*out.rate())
		if sum += extra; extra > most {
			most, name = extra, int32(n)
		}
	}
	return name, most / max(sum, 1e-9)
}

// count counts a cluster, and that with which it is compared. A search leaves out
// what is in other clusters.
func (s *scan) count(c *cluster) {
	c.in, c.out = tally{}, tally{}
	for _, of := range s.sums(c, ofPath) {
		c.in, c.out = c.in.plus(of[inside]), c.out.plus(of[c.outside()])
	}
}
