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
	scanScore   = 10   // the logarithm of the likelihood ratio, without penalties
	slowTimes   = 1.2  // the factor of an interval
	serverTimes = 2    // the factor of a server from the first decision to the last,
	serverError = 2e-4 // unless it is as rare as this among servers like the others
	slowNoise   = 2.5  // the logarithm of the factor divided by the usual differences
	scanSlices  = 256  // runs of the decisions that are compared
	scanTests   = 1000 // that share contrast.Error
	asksLeast   = 0.25 // how often a client that is compared with itself asks elsewhere, divided by how often others do
	burstParts  = 32   // parts of a cluster: what a client asks for in as much time is a burst,
	burstLeast  = 4    // and the difference must be so many times its standard error
)

// A trial decides about a cluster.
type trial struct {
	*scan
	*cluster
	removed []bool // decisions in other clusters
	sides   []side
}

// check reports whether a cluster differs by more than parts of the log
// usually do.
func (s *scan) check(c *cluster, removed []bool) bool {
	if c.kind == slow && !c.timed() && c.parent == all && c.subject[ofPath] != anyName {
		return false // nobody knows what to expect of the path, as measureExcess would find at length
	}
	t := &trial{s, c, removed, make([]side, len(s.events))}
	for i, e := range s.events {
		t.sides[i] = c.side(e)
	}
	excess := t.measureExcess(func(e *event) float64 { return float64(c.of(e)) })
	in, out := t.split(excess)
	if len(in) < scanLeast || len(out) < scanLeast || c.timed() && !t.steps(excess) {
		return false
	}
	if c.kind == slow && !c.rare && !t.isProminent() || !c.isRaised(c.in.rate(), c.in.rate()-(mean(in)-mean(out)), c.revision > 0) {
		return false
	}
	size := max(1, (len(in)+len(out))/scanSlices)
	p, effect := contrast.Parts(slicesOf(out, size, c.out.rate()), slicesOf(in, size, c.out.rate()))
	if p > contrast.Error/scanTests || c.kind != shifted || c.outcome > outcome.Neither || !c.timed() && c.subject[ofRevision] == anyName {
		return p <= contrast.Error/scanTests
	}
	// What people ask for comes in runs, so the likelihood of a cluster that was
	// searched for is divided by the design effect (McCullagh 1983).
	return (c.score+c.price)/effect-c.price >= scanScore && (c.subject[ofClient] != anyName || t.isOfMany(excess))
}

// split returns the excess of the decisions in a cluster, and of those with
// which it is compared.
func (t *trial) split(excess []float64) (in, out []float64) {
	for i, x := range excess {
		switch {
		case math.IsNaN(x):
		case t.sides[i] == inside:
			in = append(in, x)
		case t.sides[i] == t.outside():
			out = append(out, x)
		}
	}
	return in, out
}

// isOfMany reports whether bursts of clients differ too little to explain a
// cluster. What a client asks for in a burst often ends in one way, so each burst
// counts as one (Liang and Zeger 1986).
func (t *trial) isOfMany(excess []float64) bool {
	var sums [inside + 1]tally // by side
	for i, x := range excess {
		sums[t.sides[i]].add(x)
	}
	in, out := sums[inside], sums[t.outside()]
	type burst struct{ side, client, part int }
	bursts, width := map[burst]float64{}, (t.last-t.first)/burstParts+1
	for i, x := range excess {
		if side := t.sides[i]; (side == inside || side == t.outside()) && !math.IsNaN(x) {
			bursts[burst{int(side), int(t.events[i].names[ofClient]), i / width}] += (x - in.plus(out).rate()) / sums[side].all
		}
	}
	square := 0.0
	for _, x := range bursts {
		square += x * x
	}
	return in.rate()-out.rate() >= burstLeast*math.Sqrt(square)
}

// isProminent reports whether the decisions in a cluster are slower by a factor
// that matters, and by far more than runs of the others differ.
func (t *trial) isProminent() bool {
	excess := t.measureExcess(func(e *event) float64 { return e.over })
	in, out := t.split(excess)
	if factor := math.Exp(mean(in) - mean(out)); factor < slowTimes || !t.timed() && factor < serverTimes && !t.isOutlier(excess) {
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

// isOutlier reports whether a server differs from the others by more than they
// differ from one another: no machine is like the next one.
func (t *trial) isOutlier(excess []float64) bool {
	own := t.subject[ofServer]
	if own == anyName || t.parent != all {
		return false
	}
	servers := make([]tally, len(t.values[ofServer]))
	for i, x := range excess {
		if t.sides[i] != elsewhere {
			servers[t.events[i].names[ofServer]].add(x)
		}
	}
	var others []float64
	for n, of := range servers {
		if n != int(own) && of.all >= scanLeast {
			others = append(others, of.rate())
		}
	}
	n := float64(len(others))
	if n < 2 {
		return false
	}
	distance := (servers[own].rate() - mean(others)) / math.Sqrt(variance(others)*(n+1)/(n-1)) // of another one from theirs
	return distance > 0 && contrast.Tail(distance, len(others)-1) <= serverError
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
func (t *trial) steps(excess []float64) bool {
	n, step, y, course := make([]float64, scanBins), make([]float64, scanBins), make([]float64, scanBins), make([][]float64, 8)
	for i, x := range excess {
		if !math.IsNaN(x) && t.sides[i] >= before {
			b := t.bin[i]
			if n[b], y[b] = n[b]+1, y[b]+x; t.sides[i] == inside {
				step[b]++
			}
		}
	}
	hours := time.Duration(t.events[len(t.events)-1].time - t.events[0].time).Hours()
	for b := range y {
		y[b], step[b] = y[b]/max(1, n[b]), step[b]/max(1, n[b])
		t := (float64(b)+0.5)/scanBins*2 - 1
		day := math.Pi * (t + 1) * hours / 24
		for i, v := range [...]float64{t * t * t, t * t, t, 1, math.Sin(day), math.Cos(day), math.Sin(2 * day), math.Cos(2 * day)} {
			course[i] = append(course[i], v)
		}
	}
	in, out := t.split(excess)
	noise := (variance(in)*float64(len(in)) + variance(out)*float64(len(out))) / float64(len(in)+len(out))
	least := residual(y, n, course[3], step)
	fits := func(price float64, smooth ...[]float64) bool { return residual(y, n, smooth...)+price*noise < least }
	if hours < dayHours {
		return !fits(4, course[:4]...)
	}
	// Of a single day, nobody knows whether others are like it. If the outcome is
	// usual, its rise must be steep: ends that were looked for fit noise too, so
	// each has the price of a change point (Yao 1988).
	ends := 0.0
	if t.in.rate() < rareTimes*t.out.rate() {
		ends = 2 * t.changes * math.Log(float64(len(in)+len(out)))
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
// knows what people ask for, or how long it takes, on a path that only the
// cluster has. What people ask for differs, so a client is compared with itself,
// and does not count if it asks far less elsewhere than others, unless all its
// decisions are too few to tell.
func (t *trial) measureExcess(of func(*event) float64) []float64 {
	excess := make([]float64, len(t.events))
	here, paths := make([]tally, len(t.values[ofPath])), make([]tally, len(t.values[ofPath])) // inside, and elsewhere
	asks := t.kind == shifted && t.outcome <= outcome.Neither && t.subject[ofClient] == anyName
	var ours, others []tally // the same, by client too
	if asks {
		ours, others = make([]tally, len(t.events)), make([]tally, len(t.events))
	}
	var outside tally
	for i, e := range t.events {
		if excess[i] = of(e); t.removed[i] || t.feature.of(e) < 0 {
			excess[i] = math.NaN()
		}
		of, uses := here, ours
		if t.sides[i] != inside {
			of, uses = paths, others
			outside.add(excess[i])
		}
		if of[e.names[ofPath]].add(excess[i]); asks {
			uses[e.use].add(excess[i])
		}
	}
	alone := math.NaN()
	if t.kind != slow && !t.timed() && (t.kind != shifted || t.outcome > outcome.Neither) {
		alone = outside.expect(alone)
	}
	var peers [scanBins]tally // at the same time
	for i, e := range t.events {
		expected, path := alone, e.names[ofPath]
		if paths[path].all > 0 {
			expected = paths[path].expect(math.NaN())
		}
		if asks {
			own, usual := others[e.use], ours[e.use].all*paths[path].all/max(1, here[path].all) // as often as others
			if max(own.all, usual) >= expectLeast {
				expected = math.NaN()
			}
			if own.all >= max(expectLeast, usual*asksLeast) {
				expected = own.rate()
			}
		}
		if excess[i] -= expected; t.sides[i] == peer {
			peers[t.bin[i]].add(excess[i])
		}
	}
	if t.kind == slow || t.parent != all { // a path's outcomes may follow the day
		for i := range excess {
			excess[i] -= peers[t.bin[i]].expect(0)
		}
	}
	return excess
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
