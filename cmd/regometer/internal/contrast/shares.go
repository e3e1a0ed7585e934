// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"slices"
)

// Error is the greatest probability that a comparison of like with like finds a
// change, and that a scan of a log in which nothing changes does. Each shares it
// out among its tests.
const Error = 0.05

// MinSlices is the least number of slices of time of a side that can be judged.
const MinSlices = 8

// Count has the decisions of one slice of time.
type Count struct {
	N   float64 // all that count, more than 0
	Has float64 // those of them that have what is compared
}

// Difference is how a share or a quantile differs from before to after.
type Difference struct {
	Before, After float64

	// Low and High are the ends of the confidence interval of the change.
	Low, High float64
	// P is the probability of a difference like this or larger if nothing has
	// changed. It is at most alpha where the interval does not contain 0.
	P float64
}

// Shares compares the share of decisions that have something. The slices of each
// side are in the order of time. Low and High are differences of shares, from −1
// to 1: 0.05 is 5 percentage points. They are wrong with a probability of alpha
// if each side has [MinSlices] slices.
func Shares(before, after []Count, alpha float64) Difference {
	t := newTest(sideOf(before, waves(len(before))), sideOf(after, waves(len(after))))
	more, less := t.tails(0)
	change := t.after.share - t.before.share
	low, high := interval(change, alpha, 1+change, 1-change, 1e-7, t.tails)
	return Difference{t.before.share, t.after.share, max(-1, low), min(1, high), 2 * min(more, less)}
}

// Parts compares two parts of one log, which have the design effect of both
// together, and returns it. So a part may have few slices. P is as in
// [Difference], 1 if all decisions are alike.
func Parts(before, after []Count) (p, effect float64) {
	b, a := sideOf(before, nil), sideOf(after, nil)
	slices := slices.Clone(before)
	for _, c := range after {
		slices = append(slices, Count{c.N, c.Has - (a.share-b.share)*c.N})
	}
	waves := waves(len(slices))
	independent := b.n*b.share*(1-b.share) + a.n*a.share*(1-a.share)
	if b.df = len(waves); independent > 0 {
		b.effect = max(1, longRunVariance(slices, b.share, waves, 0)/independent)
	}
	a.df, a.effect = b.df, b.effect
	more, less := test{b, a, (b.n*b.share + a.n*a.share) / (b.n + a.n)}.tails(0)
	return 2 * min(more, less), b.effect
}

// Wilson returns the 95 % interval of a share of n independent decisions, such
// as those of a random sample (Wilson 1927).
func Wilson(share, n float64) (low, high float64) {
	const z2 = 1.959964 * 1.959964
	middle, half := (share+z2/2/n)/(1+z2/n), math.Sqrt(z2*(share*(1-share)/n+z2/4/n/n))/(1+z2/n)
	return max(0, middle-half), min(1, middle+half)
}

// side is a share of one side.
type side struct {
	n, share float64
	variance float64 // of the share, by its slices
	slices   float64
	df       int     // degrees of freedom of the variance
	effect   float64 // the design effect: the variance divided by that of independent decisions
}

func sideOf(counts []Count, waves [][]float64) side {
	s := side{slices: float64(len(counts)), df: len(waves), effect: 1}
	var has float64
	for _, c := range counts {
		s.n += c.N
		has += c.Has
	}
	if s.n == 0 {
		return s
	}
	s.share = has / s.n
	if waves != nil {
		s.variance = longRunVariance(counts, s.share, waves, memoryOf(counts, s.share)) / (s.n * s.n)
	}
	return s
}

// test tests by how much a share differs from before to after.
type test struct {
	before, after side
	both          float64 // the share of both sides together
}

// newTest sets the design effects. A side with few decisions that have or lack
// the thing does not show how they come together. So its design effect is at
// least what follows from the share and the variance of a slice of both sides.
func newTest(b, a side) test {
	const few = 9.5 // so that rounding does not decide
	both := (b.n*b.share + a.n*a.share) / (b.n + a.n)
	slice := (b.slices*b.slices*b.variance + a.slices*a.slices*a.variance) / (b.slices + a.slices)
	for _, s := range []*side{&b, &a} {
		own, common := s.share*(1-s.share), both*(1-both)
		if own > 0 {
			s.effect = max(s.effect, s.variance*s.n/own)
		}
		if common > 0 && s.n*min(s.share, 1-s.share) < few {
			s.effect = max(s.effect, slice/s.slices*s.n/common)
		}
	}
	return test{b, a, both}
}

// tails tests whether the shares differ by change. It returns two probabilities
// of a difference like this or larger if they do: to the side of a larger change
// (more), and to the side of a smaller one (less).
func (t test) tails(change float64) (more, less float64) {
	b, a := &t.before, &t.after
	distance := a.share - b.share - change
	if distance == 0 {
		return 0.5, 0.5
	}
	p := t.restricted(change)
	variance := b.effect*p*(1-p)/b.n + a.effect*(p+change)*(1-p-change)/a.n
	tail := Tail(math.Abs(distance)/math.Sqrt(max(0, variance)), min(b.df, a.df))
	if distance > 0 {
		return tail, 1 - tail
	}
	return 1 - tail, tail
}

// restricted returns the most likely share before, of independent decisions, if
// the share after is larger by change.
func (t test) restricted(change float64) float64 {
	b, a := &t.before, &t.after
	if change == 0 {
		return t.both
	}
	return bisect(max(0, -change), min(1, 1-change), 1e-12, func(p float64) bool {
		q := p + change
		return b.n*(b.share-p)/(p*(1-p))+a.n*(a.share-q)/(q*(1-q)) > 0 // the slope of the logarithm of the likelihood
	})
}

// waves returns the cosines of [longRunVariance] for n terms. Cosine j of term
// i is √2·cos(π·j·(i+½)/n). The number of cosines is ½·n^⅔, rounded, but at
// least 2.
func waves(n int) [][]float64 {
	table := make([]float64, 4*n)
	for k := range table {
		table[k] = math.Sqrt2 * math.Cos(math.Pi/2*float64(k)/float64(n))
	}
	w := make([][]float64, max(2, int(math.Round(math.Pow(float64(n), 2./3)/2))))
	for j := range w {
		w[j] = make([]float64, n)
		for i := range w[j] {
			w[j][i] = table[(j+1)*(2*i+1)%(4*n)]
		}
	}
	return w
}

// run is the number of slices whose noise memoryOf takes together, because noise
// of single slices hides how long the rest lasts.
const run = 3

// memoryOf returns the correlation of a run of terms with the next run, or 0 if
// it is negative.
func memoryOf(counts []Count, share float64) float64 {
	var product, square, last float64
	for all := range slices.Chunk(counts, run) {
		sum := 0.0
		for _, c := range all {
			sum += c.Has - share*c.N
		}
		product, square, last = product+last*sum, square+sum*sum, sum
	}
	return max(0, product/max(square, 1e-9))
}

// longRunVariance estimates the variance of the number that have something. The
// terms of its slices, by how much the number differs from what the share
// predicts, depend on their neighbours. It returns the mean square of their
// products with the waves, which are so slow that neighbours count as one. For
// n independent terms this is n times the variance of a term. If the terms have
// a memory, a wave has less of their variance than their sum, so each square is
// multiplied by what an autoregression with this memory takes away.
func longRunVariance(counts []Count, share float64, waves [][]float64, memory float64) float64 {
	var v float64
	for j, w := range waves {
		var sum float64
		for i, c := range counts {
			sum += w[i] * (c.Has - share*c.N)
		}
		angle := min(math.Pi, math.Pi*float64((j+1)*run)/float64(len(counts)))
		v += sum * sum * (1 - 2*memory*math.Cos(angle) + memory*memory) / ((1 - memory) * (1 - memory))
	}
	return v / float64(len(waves))
}

// interval returns the range of the changes that tests do not reject, half of
// alpha on either side of an estimate. An end is infinite if the tests do not even
// reject the limit of its distance. The other ends are exact to least.
func interval(estimate, alpha, limitLow, limitHigh, least float64, tails func(change float64) (more, less float64)) (low, high float64) {
	low = estimate - reach(limitLow, least, func(d float64) bool { p, _ := tails(estimate - d); return p >= alpha/2 })
	high = estimate + reach(limitHigh, least, func(d float64) bool { _, p := tails(estimate + d); return p >= alpha/2 })
	return low, high
}

// reach returns how far from an estimate a change may be so that the test does
// not reject it, or +Inf if it does not even reject the distance limit.
func reach(limit, least float64, accepted func(distance float64) bool) float64 {
	if accepted(limit) {
		return math.Inf(1)
	}
	// Changes further out may be accepted again, so search from the outside.
	d := limit / 2
	for d > least && !accepted(d) {
		d /= 2
	}
	return bisect(d, min(limit, 2*d), least, accepted)
}

// bisect returns where something ends that is so at low, and not at high.
func bisect(low, high, least float64, is func(float64) bool) float64 {
	for high-low > least {
		if m := low + (high-low)/2; is(m) {
			low = m
		} else {
			high = m
		}
	}
	return high
}
