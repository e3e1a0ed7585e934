// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file decides whether a cluster differs by more than parts of the log
// usually do.

import (
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/outcome"
)

// The thresholds that a cluster must reach.
const (
	rarePoints   = 0.02 // the share of an outcome minus the share outside, if that is small:
	rareTimes    = 3    // the share divided by the share outside,
	revisedTimes = 1.5  // or less if a revision begins with it
	alwaysShare  = 0.95 // of denied and other decisions of a client at all times,
	seldomShare  = 0.7  // against those outside, at most
	slowLow      = 2.5  // slow: the duration divided by that of the path's fastest tenth
	slowHigh     = 8    // the same, for a cluster among other slow decisions
	slowHigher   = 32   // and these, where some decisions always take long
	slowHighest  = 128
	topShare     = 0.98 // few slow decisions: longer than this share of the decisions of their path,
	topTimes     = 16   // and so many times as long as the fastest tenth
	slowTimes    = 1.2  // the factor of an interval
	serverTimes  = 2    // the factor of a server from the first decision to the last
	slowNoise    = 2.5  // the logarithm of the factor divided by the usual differences
	scanSlices   = 256  // runs of the decisions that are compared
	scanTests    = 1000 // that share contrast.Error
	burstParts   = 16   // parts of a cluster: what a client asks for in as much time is a burst,
	burstLeast   = 4    // and the difference must be so many times its standard error
)

// check reports whether a cluster differs by more than parts of the log
// usually do.
func (s *scan) check(c *cluster, removed []bool) bool {
	if c.kind == slow && !c.timed() && c.parent == all && c.subject[ofPath] != anyName {
		return false // nobody knows what to expect of the path, as measureExcess says
	}
	sides := s.sidesOf(c)
	excess := s.measureExcess(c, sides, removed, func(e *event) float64 { return float64(c.of(e)) })
	in, out := c.split(excess, sides)
	if len(in) < scanLeast || len(out) < scanLeast || c.timed() && !s.steps(c, excess, sides) {
		return false
	}
	if c.kind == slow && !c.rare && !s.isProminent(c, sides, removed) || !c.raised(c.in.rate(), c.in.rate()-(mean(in)-mean(out))) {
		return false
	}
	size := max(1, (len(in)+len(out))/scanSlices)
	p, effect := contrast.Parts(slicesOf(out, size, c.out.rate()), slicesOf(in, size, c.out.rate()))
	if p > contrast.Error/scanTests || c.kind != shifted || c.outcome > outcome.Neither || !c.timed() && c.subject[ofRevision] == anyName {
		return p <= contrast.Error/scanTests
	}
	// What people ask for comes in runs, so the likelihood of a cluster that was
	// searched for is divided by the design effect (McCullagh 1983).
	return (c.score+c.price)/effect-c.price >= scanScore && (c.subject[ofClient] != anyName || s.isOfMany(c, in, out, excess, sides))
}

// A side says where a decision is for a cluster.
type side uint8

const (
	elsewhere side = iota
	peer           // in the parent of the subject only
	before         // in the subject, at other times
	inside
)

// sidesOf returns the side of each decision. The events of c must be those of its
// subject.
func (s *scan) sidesOf(c *cluster) []side {
	sides := make([]side, len(s.events))
	for i := range s.events {
		if c.parent.has(&s.events[i]) {
			sides[i] = peer
		}
	}
	for _, i := range c.events {
		if sides[i] = before; int(i) >= c.first && int(i) <= c.last {
			sides[i] = inside
		}
	}
	return sides
}

// outside returns the side with which a cluster is compared.
func (c *cluster) outside() side {
	if c.timed() {
		return before
	}
	return peer
}

// split returns the excess of the decisions in a cluster, and of those with
// which it is compared: its subject at other times, or else its parent.
func (c *cluster) split(excess []float64, sides []side) (in, out []float64) {
	for i, x := range excess {
		switch {
		case math.IsNaN(x):
		case sides[i] == inside:
			in = append(in, x)
		case sides[i] == c.outside():
			out = append(out, x)
		}
	}
	return in, out
}

// isOfMany reports whether bursts of clients differ too little to explain a
// cluster. What a client asks for in a burst often ends in one way, so each burst
// counts as one (Liang and Zeger 1986), and so does a client that asks at no other
// time. If a client has most decisions at all times, its own outcomes must change.
func (s *scan) isOfMany(c *cluster, in, out, excess []float64, sides []side) bool {
	outside := c.outside()
	both, rise := mean(slices.Concat(in, out)), mean(in)-mean(out)
	bursts, width := map[[3]int]float64{}, (c.last-c.first)/burstParts+1
	clients := make([][inside + 1]average, len(s.values[ofClient])) // by side
	for i, x := range excess {
		clients[s.events[i].names[ofClient]][sides[i]].add(x)
	}
	for _, of := range clients {
		if a, b := of[inside], of[outside]; 2*a.n > float64(len(in)) && 2*b.n > float64(len(out)) {
			p := c.in.plus(c.out).rate()
			return a.sum/a.n-b.sum/b.n >= max(rise/2, burstLeast*math.Sqrt(p*(1-p)*(1/a.n+1/b.n)))
		}
	}
	for i, x := range excess {
		client, part, n := int(s.events[i].names[ofClient]), i/width, len(in)
		if clients[client][outside].n == 0 {
			part = 0
		}
		if sides[i] == outside {
			n = len(out)
		}
		if (sides[i] == inside || sides[i] == outside) && !math.IsNaN(x) {
			bursts[[3]int{int(sides[i]), client, part}] += (x - both) / float64(n)
		}
	}
	square := 0.0
	for _, x := range bursts {
		square += x * x
	}
	return rise >= burstLeast*math.Sqrt(square)
}

// isProminent reports whether the decisions in a cluster are slower by a factor
// that matters, and by far more than runs of the others differ.
func (s *scan) isProminent(c *cluster, sides []side, removed []bool) bool {
	in, out := c.split(s.measureExcess(c, sides, removed, func(e *event) float64 { return e.over }), sides)
	if factor := math.Exp(mean(in) - mean(out)); factor < slowTimes || !c.timed() && factor < serverTimes {
		return false
	}
	size := max(min(len(in), len(out))/8, 10)
	runs, others := means(in, size), means(out, size)
	if len(runs) < 3 || len(others) < 3 {
		return false
	}
	usual, high := nearest(others, 0.5), nearest(others, 0.95)
	return nearest(runs, 0.25) > high && mean(in)-usual >= slowNoise*(high-usual)
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

// slicesOf counts runs of decisions with an excess above a rate.
func slicesOf(excess []float64, size int, rate float64) (counts []contrast.Count) {
	for run := range slices.Chunk(excess, size) {
		n := float64(len(run))
		counts = append(counts, contrast.Count{N: n, Has: n * (rate + mean(run))})
	}
	return counts
}

// steps reports whether a step at each end of a cluster explains the decisions of
// its subject better than a smooth course does: a trend, the times of day, or
// both. An outcome that follows the day is no fault. All are fitted by least
// squares, and each number of a course has a price (Akaike 1974).
func (s *scan) steps(c *cluster, excess []float64, sides []side) bool {
	var n, within, sum [scanBins]float64
	for i, x := range excess {
		if !math.IsNaN(x) && sides[i] >= before {
			b := s.bin[i]
			if n[b], sum[b] = n[b]+1, sum[b]+x; sides[i] == inside {
				within[b]++
			}
		}
	}
	hours := time.Duration(s.events[len(s.events)-1].time - s.events[0].time).Hours()
	step, y, course := make([]float64, scanBins), make([]float64, scanBins), make([][]float64, 8)
	for b := range y {
		if n[b] > 0 {
			y[b], step[b] = sum[b]/n[b], within[b]/n[b]
		}
		t := (float64(b)+0.5)/scanBins*2 - 1
		day := math.Pi * (t + 1) * hours / 24
		for i, v := range [...]float64{t * t * t, t * t, t, 1, math.Sin(day), math.Cos(day), math.Sin(2 * day), math.Cos(2 * day)} {
			course[i] = append(course[i], v)
		}
	}
	in, out := c.split(excess, sides)
	noise := (variance(in)*float64(len(in)) + variance(out)*float64(len(out))) / float64(len(in)+len(out))
	least := residual(y, n[:], course[3], step)
	fits := func(price float64, smooth ...[]float64) bool { return residual(y, n[:], smooth...)+price*noise < least }
	if hours < dayHours {
		return !fits(4, course[:4]...)
	}
	// Of a single day, nobody knows whether others are like it. If the outcome is
	// usual, its rise must be steep: ends that were looked for fit noise too, so
	// each has the price of a change point (Yao 1988).
	ends := 0.0
	if c.in.rate() < rareTimes*c.out.rate() {
		for _, is := range []bool{c.begins, c.ends} {
			if is {
				ends += 2 * math.Log(float64(len(in)+len(out)))
			}
		}
	}
	return !fits(4, course[:4]...) && !fits(2-ends, course[3:6]...) && !fits(12-ends, course...)
}

// dayHours is the length of a log from which on it may show the times of day.
const dayHours = 12

// residual returns the weighted sum of the squares of what a linear function of
// the columns leaves of y (Gram and Schmidt).
func residual(y, weights []float64, columns ...[]float64) float64 {
	dot := func(a, b []float64) (sum float64) {
		for k, w := range weights {
			sum += w * a[k] * b[k]
		}
		return sum
	}
	var rest [][]float64 // of each column, and of y
	for _, column := range append(slices.Clone(columns), y) {
		column = slices.Clone(column)
		for _, x := range rest {
			if square := dot(x, x); square > 1e-9 { // or else it is a sum of those before
				f := dot(x, column) / square
				for k := range column {
					column[k] -= f * x[k]
				}
			}
		}
		rest = append(rest, column)
	}
	y = rest[len(rest)-1]
	return dot(y, y)
}

// measureExcess returns by how much each decision exceeds what is expected of
// its path and its time, or NaN if it does not count or was removed. Nobody
// knows what to expect on a path that only the cluster has, but others seldom
// have what a client asks for in vain.
func (s *scan) measureExcess(c *cluster, sides []side, removed []bool, of func(*event) float64) []float64 {
	excess := make([]float64, len(s.events))
	paths := make([]average, len(s.values[ofPath]))
	var outside average
	shared := make([]bool, len(s.values[ofPath])) // the cluster does not have it alone
	for i := range s.events {
		e := &s.events[i]
		if excess[i] = of(e); removed[i] || c.of(e) < 0 {
			excess[i] = math.NaN()
		}
		if sides[i] != inside {
			paths[e.names[ofPath]].add(excess[i])
			outside.add(excess[i])
			shared[e.names[ofPath]] = true
		}
	}
	var others [scanBins]average // at the same time
	for i := range s.events {
		e := &s.events[i]
		unknown := math.NaN()
		inVain := c.subject[ofClient] != anyName && c.outcome > outcome.Neither
		if c.kind != slow && !shared[e.names[ofPath]] && (inVain || !c.timed() && (c.kind != shifted || c.outcome > outcome.Neither)) {
			unknown = outside.expect(unknown)
		}
		if excess[i] -= paths[e.names[ofPath]].expect(unknown); sides[i] == peer {
			others[s.bin[i]].add(excess[i])
		}
	}
	if c.kind == slow && !c.rare || c.parent != all { // a path's outcomes may follow the day
		for i := range s.events {
			excess[i] -= others[s.bin[i]].expect(0)
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

// nearest returns the quantile of sorted values at nearest rank, 0 < q ≤ 1.
func nearest[T int64 | float64](sorted []T, q float64) T {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// mean returns 0 for no values.
func mean(values []float64) (m float64) {
	for _, x := range values {
		m += x / float64(len(values))
	}
	return m
}

func variance(values []float64) (v float64) {
	m := mean(values)
	for _, x := range values {
		v += (x - m) * (x - m) / float64(len(values))
	}
	return v
}
