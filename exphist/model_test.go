// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// multiset maps values to the number of times that each was recorded.
type multiset map[int64]uint64

func (m multiset) add(values ...int64) {
	for _, n := range values {
		m[n]++
	}
}

func (m multiset) plus(o multiset) multiset {
	sum := multiset{}
	for _, m := range []multiset{m, o} {
		for n, times := range m {
			sum[n] += times
		}
	}
	return sum
}

// model says what a histogram or a snapshot must hold.
type model struct {
	layout  Layout   // with the highest schema that merging has left
	all     multiset // the recorded values
	bounded multiset // those of them that are counted by explicit bounds
}

func newModel(l Layout, values ...int64) model {
	m := model{l, multiset{}, multiset{}}
	m.all.add(values...)
	m.bounded.add(values...)
	return m
}

// merge returns the model after o has been merged into a snapshot.
func (m model) merge(o model) model {
	switch {
	case o.layout.MaxBuckets == 0:
		return m
	case m.layout.MaxBuckets == 0:
		return o
	}
	m.layout.Schema = min(m.layout.Schema, o.snapshot().layout.Schema)
	m.layout.MaxBuckets = min(m.layout.MaxBuckets, o.layout.MaxBuckets)
	m.all, m.bounded = m.all.plus(o.all), m.bounded.plus(o.bounded)
	return m
}

// snapshot computes the snapshot from all values at once.
func (m model) snapshot() *Snapshot {
	s := &Snapshot{layout: m.layout, atMost: make([]uint64, len(m.layout.Bounds))}
	for n, times := range m.bounded {
		for i := range s.atMost {
			if n >= 0 && n <= m.layout.Bounds[i] {
				s.atMost[i] += times
			}
		}
	}
	least, sum := int64(math.MaxInt64), new(big.Int)
	for n, times := range m.all {
		switch {
		case n < 0:
			s.negatives += times
			continue
		case n == 0:
			s.zeros += times
		default:
			least, s.most = min(least, n), max(s.most, n)
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), new(big.Int).SetUint64(times)))
		}
		s.count += times
	}
	if s.most == 0 {
		return s
	}
	s.least = least
	s.sum.lo = new(big.Int).And(sum, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	s.sum.hi = sum.Rsh(sum, 64).Uint64()
	for s.layout.index(s.most)-s.layout.index(s.least) >= m.layout.MaxBuckets {
		s.layout.Schema--
	}
	s.first = s.layout.index(s.least)
	s.counts = make([]uint64, s.layout.index(s.most)-s.first+1)
	for n, times := range m.all {
		if n > 0 {
			s.counts[s.layout.index(n)-s.first] += times
		}
	}
	return s
}

func mustEqual(t *testing.T, what string, got, want *Snapshot) {
	t.Helper()
	g, w := *got, *want
	for _, s := range []*Snapshot{&g, &w} { // nil or empty
		s.counts, s.atMost = append([]uint64{}, s.counts...), append([]uint64{}, s.atMost...)
	}
	if !reflect.DeepEqual(g, w) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, g, w)
	}
}

func snapshot(h *Histogram) *Snapshot {
	s := new(Snapshot)
	h.Snapshot(s)
	return s
}

func newHistogram(l Layout, values ...int64) *Histogram {
	h := New(l)
	for _, n := range values {
		h.Record(n)
	}
	return h
}

// content returns the content of s by its public methods.
func content(s *Snapshot) *Content {
	c := &Content{Layout: s.Layout(), Zeros: s.Zeros(), Negatives: s.Negatives(), Least: s.least, Most: s.Max()}
	c.SumHi, c.SumLo = s.Sum()
	c.First, c.Counts = s.Buckets()
	return c
}

// checkOperations does random operations on histograms and snapshots, and
// compares each result with a model. The values include the extra ones.
func checkOperations(t *testing.T, r *rand.Rand, extra ...int64) {
	t.Helper()
	unit := Unit(r.IntN(units))
	bounds := [2][]int64{randomBounds(r, extra...), randomBounds(r, extra...)}
	var histograms [3]*Histogram
	var models [3]model
	var snapshots [3]Snapshot
	var copies [3]model // the models of the snapshots
	for i := range histograms {
		l := Layout{Unit: unit, Schema: minSchema + r.IntN(maxSchema-minSchema+1), MaxBuckets: minBuckets + r.IntN(1<<r.IntN(11))}
		l.Bounds = bounds[min(r.IntN(4), 1)]
		if r.IntN(10) == 0 {
			l.Unit = Unit(r.IntN(units))
		}
		values := randomValues(r, l)
		histograms[i], models[i] = newHistogram(l, values...), newModel(l, values...)
		if r.IntN(4) > 0 {
			histograms[i].Snapshot(&snapshots[i])
			copies[i] = models[i]
		}
	}
	for range 1 + r.IntN(20) {
		at, i, j := r.IntN(len(histograms)), r.IntN(len(snapshots)), r.IntN(len(snapshots))
		h, m, s, of := histograms[at], &models[at], &snapshots[i], &copies[i]
		switch r.IntN(12) {
		default:
			values := append(randomValues(r, m.layout), extra...)
			for _, n := range values {
				h.Record(n)
			}
			*m = m.merge(newModel(m.layout, values...))
		case 0, 1:
			h.Snapshot(s)
			*of = *m
		case 2, 3:
			if merges(t, h.Merge(s), m.layout, of.layout) {
				most := m.layout.MaxBuckets // stays as it is
				*m = m.merge(*of)
				m.layout.MaxBuckets = most
			}
		case 4, 5:
			if merges(t, s.Merge(&snapshots[j]), of.layout, copies[j].layout) {
				*of = of.merge(copies[j])
			}
		case 6:
			if b := bounds[r.IntN(2)]; of.layout.MaxBuckets > 0 && !slices.Equal(of.layout.Bounds, b) {
				of.layout.Bounds, of.bounded = b, multiset{}
				s.Rebound(b)
			} else {
				s.Rebound(slices.Clone(of.layout.Bounds)) // the same bounds
			}
		case 7:
			s.Reset()
			*of = model{}
		case 8:
			if err := s.Restore(content(&snapshots[j])); (err == nil) != (copies[j].layout.MaxBuckets > 0) {
				t.Fatal(err)
			}
			if i != j {
				*of = copies[j]
			}
			of.bounded = multiset{}
		}
		if len(m.all) > 5000 || snapshots[i].Count() > 1<<50 {
			break
		}
	}
	for i, h := range histograms {
		s, want := snapshot(h), models[i].snapshot()
		mustEqual(t, "a histogram", s, want)
		checkReading(t, r, s, models[i].all)
		if n := h.counters.len(); n > len(want.counts)+16 {
			t.Errorf("%d counters for %d buckets", n, len(want.counts))
		}
		mustEqual(t, "a snapshot", &snapshots[i], copies[i].snapshot())
	}
}

// merges checks the error of merging a histogram of one layout into another,
// and reports whether they can be merged.
func merges(t *testing.T, err error, into, from Layout) bool {
	t.Helper()
	var names []string
	switch {
	case into.MaxBuckets == 0 || from.MaxBuckets == 0:
	case into.Unit != from.Unit:
		names = []string{into.Unit.String(), from.Unit.String()}
	case !slices.Equal(into.Bounds, from.Bounds):
		names = []string{fmt.Sprint(into.Bounds), fmt.Sprint(from.Bounds)}
	}
	if (err != nil) != (names != nil) {
		t.Fatalf("merging %+v into %+v: error %v", from, into, err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Fatalf("error %v does not name %s", err, name)
		}
	}
	return err == nil
}

// checkReading compares what the methods of a snapshot return with its values.
func checkReading(t *testing.T, r *rand.Rand, s *Snapshot, values multiset) {
	t.Helper()
	sum, total, end := new(big.Float), s.Zeros(), int64(0)
	first, counts := s.Buckets()
	for i, count := range counts {
		low, high := s.layout.limits(first + i)
		if low != end+1 && i > 0 || count > 0 && high < low {
			t.Fatalf("the bucket from %d to %d comes after one that ends at %d", low, high, end)
		}
		end = high
		total += count
		for n, times := range values {
			if n >= low && n <= high {
				count -= times
				x := new(big.Float).SetInt64(n)
				sum.Add(sum, x.Mul(x, new(big.Float).SetUint64(times)))
			}
		}
		if count != 0 {
			t.Fatalf("the count of the bucket from %d to %d differs by %d", low, high, count)
		}
	}
	if total != s.Count() {
		t.Fatalf("the buckets hold %d values, not %d", total, s.Count())
	}
	want, _ := sum.Float64()
	want /= float64(s.Layout().Unit.perExported())
	if got := s.ExportedSum(); math.Abs(got-want) > 1e-12*want {
		t.Fatalf("the exported sum is %v, not %v", got, want)
	}

	sorted := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(n int64) bool { return n < 0 })
	qs := []float64{math.NaN(), -1, 0, .001, .01, .1, .25, .5, .5, .75, .9, .99, .999, 1, 2, r.Float64(), 1 - math.Exp2(-60)}
	if n := s.Count(); n > 0 { // a rank at the end of a value
		below := uint64(0)
		for _, v := range sorted[:r.IntN(len(sorted))] {
			below += values[v]
		}
		qs = append(qs, float64(below)/float64(n))
	}
	r.Shuffle(len(qs), func(i, j int) { qs[i], qs[j] = qs[j], qs[i] })
	for i, got := range s.AppendQuantiles(nil, qs...) {
		q := qs[i]
		if one := s.Quantile(q); one != got && !(math.IsNaN(one) && math.IsNaN(got)) {
			t.Fatalf("Quantile(%v) is %v, and AppendQuantiles returns %v", q, one, got)
		}
		if len(sorted) == 0 || math.IsNaN(q) {
			if !math.IsNaN(got) {
				t.Fatalf("quantile %v of nothing is %v", q, got)
			}
			continue
		}
		rank, k := math.Ceil(q*float64(s.Count())), 0
		for below := values[sorted[0]]; float64(below) < rank && k < len(sorted)-1; below += values[sorted[k]] {
			k++
		}
		want := float64(sorted[k])
		if math.Abs(got-want) > want*math.Tanh(math.Ldexp(math.Ln2/2, -s.Layout().Schema))*(1+1e-12) || got < float64(s.Min()) || got > float64(s.Max()) ||
			(q <= 0 && got != float64(s.Min())) || (q >= 1 && got != float64(s.Max())) {
			t.Fatalf("%+v: quantile %v is %v, want %v", s.Layout(), q, got, want)
		}
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		checkOperations(t, rand.New(rand.NewPCG(1, seed)))
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(uint64(1), int64(0), int64(-1), int64(math.MaxInt64))
	f.Add(uint64(2), int64(1), int64(1<<29), int64(1<<30))
	f.Add(uint64(3), int64(999_999), int64(1_000_000), int64(1_000_001))
	f.Fuzz(func(t *testing.T, seed uint64, x, y, z int64) {
		checkOperations(t, rand.New(rand.NewPCG(seed, 0)), x, y, z)
	})
}

// Counts are modulo 2^64. The sum does not overflow before its count does.
func TestMostValues(t *testing.T) {
	t.Parallel()
	l := Layout{Unit: Integer}.complete()
	m, h := newModel(l, math.MaxInt64), newHistogram(l, math.MaxInt64)
	for range 64 {
		s := snapshot(h)
		mustEqual(t, fmt.Sprint(s.Count(), " values"), s, m.snapshot())
		if err := h.Merge(s); err != nil {
			t.Fatal(err)
		}
		m = m.merge(m)
	}
	if n := snapshot(h).Count(); n != 0 {
		t.Errorf("count is %d after 2^64 values, want 0", n)
	}
}

// randomBounds returns up to maxBounds bounds, or nil: random values and extra
// ones, their neighbours, and the ends of buckets.
func randomBounds(r *rand.Rand, extra ...int64) []int64 {
	list := append(randomValues(r, Layout{Unit: Nanosecond}.complete()), extra...)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	list = list[:min(len(list), 1<<r.IntN(8))]
	for i, n := range list {
		switch r.IntN(4) {
		case 0:
			list[i] = max(n, 1) - 1
		case 1:
			list[i] = min(n, math.MaxInt64-1) + 1
		case 2:
			if n > 0 {
				l := Layout{Unit: Unit(r.IntN(units)), Schema: r.IntN(maxSchema)}
				_, list[i] = l.limits(l.index(n))
			}
		}
	}
	list = slices.DeleteFunc(list, func(n int64) bool { return n <= 0 })
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), maxBounds)]
}

// randomValues returns values of one of several kinds for a histogram of layout
// l.
func randomValues(r *rand.Rand, l Layout) []int64 {
	values := make([]int64, r.IntN(300))
	kind := r.IntN(12)
	octave := r.IntN(62)
	neighbours := [2]float64{math.Ldexp(1+r.Float64(), 53+r.IntN(9))}
	neighbours[1] = math.Nextafter(neighbours[0], math.Inf(1))
	for i := range values {
		switch kind {
		case 0, 1: // latencies
			values[i] = logNormal(r, 1)
		case 2: // all sizes
			values[i] = int64(r.Uint64() >> (1 + r.IntN(63)))
		case 3: // small, with zeros and negatives
			values[i] = int64(r.IntN(20) - 5)
		case 4: // the ends of the type
			values[i] = []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}[r.IntN(6)]
		case 5: // wide buckets
			values[i] = math.MaxInt64 - int64(r.Uint64()>>(1+r.IntN(10)))
		case 6, 7: // one bucket, with its ends
			low, high := l.limits(l.index(1_000_000))
			values[i] = []int64{low - 1, low, low + 1, 1_000_000, high - 1, high, min(high, math.MaxInt64-1) + 1}[r.IntN(7)]
		case 8: // three values
			values[i] = []int64{16_000_000_000, 24_000_000_000, 32_000_000_000}[r.IntN(3)]
		case 9: // two that are neighbours as float64
			values[i] = int64(neighbours[r.IntN(2)])
		case 10: // one bucket after the other
			_, values[i] = l.limits(l.index(1000) + i)
		default: // few of each size, upwards
			values[i] = int64(1) << (octave * i / len(values))
		}
	}
	if kind == 10 && r.IntN(2) == 0 {
		slices.Reverse(values)
	}
	return values
}

// logNormal returns a latency in nanoseconds with a median of 200 µs.
func logNormal(r *rand.Rand, sigma float64) int64 {
	return int64(200e3 * math.Exp(sigma*r.NormFloat64()))
}

func logNormals(seed uint64, n int, sigma float64) []int64 {
	r := rand.New(rand.NewPCG(seed, 0))
	values := make([]int64, n)
	for i := range values {
		values[i] = logNormal(r, sigma)
	}
	return values
}
