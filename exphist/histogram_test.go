// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		l, values := randomLayout(r), randomValues(r, 2000)
		h := newHistogram(t, l, values...)
		mustEqual(t, fmt.Sprint(l), snapshot(h), snapshotOf(l, values))
	}
}

// A hot word has to be emptied before its count or its sum overflows.
func TestRecordManyOfOneBucket(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	for _, n := range []int64{
		1,              // no excess
		1_000_000_000,  // a bucket of 20 ms
		24_000_000_000, // about the widest with a hot word
		1_000_000_000_000,
		1 << 50,
		math.MaxInt64,
	} {
		n = l.bucket((&Snapshot{layout: l}).index(n)).High // the greatest excess
		const times = 140_000                              // more than a word can count
		h := newHistogram(t, l)
		for range times {
			h.Record(n)
		}
		s := snapshot(h)
		want, one := snapshotOf(l, nil), snapshotOf(l, []int64{n})
		for bit := range 18 { // times·one by doubling
			if times>>bit&1 == 1 {
				mustMerge(t, want, one)
			}
			mustMerge(t, one, one)
		}
		mustEqual(t, fmt.Sprint(n), s, want)
	}
}

// Every word of a histogram that grows, is reduced, is merged into and is read
// meanwhile counts each value once.
func TestRecordConcurrently(t *testing.T) {
	t.Parallel()
	const goroutines, each, modulus = 4, 20_000, 1000
	// Each value is 1 more than a multiple of modulus: so is the sum of n
	// values n more, which tells whether count and sum are of the same values.
	value := func(r *rand.Rand) int64 {
		switch r.IntN(50) {
		case 0:
			return int64(r.Uint64()>>(2+r.IntN(50)))/modulus*modulus + 1
		default:
			return logNormal(r, 1)/modulus*modulus + 1
		}
	}
	for _, maxBuckets := range []int{30, 640, 10_000} {
		t.Run(fmt.Sprintf("MaxBuckets=%d", maxBuckets), func(t *testing.T) {
			t.Parallel()
			l := Layout{Nanosecond, 5, maxBuckets}
			h := newHistogram(t, l)
			var all []int64
			var recorders, readers sync.WaitGroup
			var done atomic.Bool
			for g := range goroutines {
				r := rand.New(rand.NewPCG(uint64(g), 0))
				values := make([]int64, each)
				for i := range values {
					values[i] = value(r)
				}
				all = append(all, values...)
				recorders.Go(func() {
					for _, n := range values[:each/2] {
						h.Record(n)
					}
					for i := each / 2; i < each; i += each / 20 {
						part := newHistogram(t, l, values[i:i+each/20]...)
						if err := h.Merge(snapshot(part)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			readers.Go(func() {
				var s Snapshot
				for before := uint64(0); !done.Load(); before = s.Count() {
					h.Snapshot(&s)
					checkConsistent(t, &s)
					if s.Count() < before {
						t.Errorf("count fell from %d to %d", before, s.Count())
					}
					hi, lo := s.Sum()
					sum := (hi%modulus*(1<<32%modulus)%modulus*(1<<32%modulus) + lo%modulus) % modulus
					if sum != s.Count()%modulus {
						t.Errorf("count %d and sum %d·2^64+%d are of different recordings", s.Count(), hi, lo)
					}
				}
			})
			recorders.Wait()
			done.Store(true)
			readers.Wait()
			mustEqual(t, "at the end", snapshot(h), snapshotOf(l, all))
		})
	}
}

func sumOf(count, value uint64) uint128 {
	hi, lo := bits.Mul64(count, value)
	return uint128{hi, lo}
}

// checkConsistent checks what holds for any one snapshot.
func checkConsistent(t *testing.T, s *Snapshot) {
	t.Helper()
	first, counts := s.Buckets()
	total := s.Zeros()
	for _, n := range counts {
		total += n
	}
	if total != s.Count() {
		t.Errorf("count is %d, that of the buckets %d", s.Count(), total)
	}
	if len(counts) > s.Layout().MaxBuckets {
		t.Errorf("%d buckets, at most %d are allowed", len(counts), s.Layout().MaxBuckets)
	}
	if len(counts) == 0 {
		return
	}
	if i := s.index(s.least); i != first || counts[0] == 0 {
		t.Errorf("the smallest value %d is in bucket %d, the first bucket is %d and holds %d", s.least, i, first, counts[0])
	}
	last := len(counts) - 1
	if i := s.index(s.most); i != first+last || counts[last] == 0 {
		t.Errorf("the largest value %d is in bucket %d, the last bucket is %d and holds %d", s.most, i, first+last, counts[last])
	}
}

// Hot words that are replaced while others add to them lose nothing. This needs
// many young histograms, since an old one replaces none any more.
func TestRecordWhileHotWordsAreReplaced(t *testing.T) {
	t.Parallel()
	const goroutines, each = 4, 4000
	values := make([]int64, each)
	for i := range values {
		values[i] = 1 << (i % 2 * 30 * i / each) * int64(1+i%3) // a hot word, and one beyond the others
	}
	for range 20 {
		l := Layout{Nanosecond, 5, 1000}
		h := newHistogram(t, l)
		var all []int64
		var wg sync.WaitGroup
		for range goroutines {
			all = append(all, values...)
			wg.Go(func() {
				for _, n := range values {
					h.Record(n)
				}
			})
		}
		wg.Wait()
		mustEqual(t, "at the end", snapshot(h), snapshotOf(l, all))
	}
}

// Who adds to a word that has just been replaced sees that it is dead, and
// records again.
func TestRecordOnADeadWord(t *testing.T) {
	t.Parallel()
	h := New(Nanosecond)
	for range 2 * warm {
		h.Record(1000)
	}
	old := h.state.Load()
	for range 2 * warm {
		h.Record(1_000_000)
	}
	current := h.state.Load()
	for slot := range old.hot.words {
		if old.hot.words[slot].Load() != dead {
			t.Fatalf("word %d of the old ones is %#x, not dead", slot, old.hot.words[slot].Load())
		}
	}

	word := &old.hot.words[h.grid.position(1000)-old.hot.first]
	for range 100 {
		before := snapshot(h).Count()
		word.Store(dead)
		h.state.Store(old) // as if it had been loaded before it was replaced
		var wg sync.WaitGroup
		wg.Go(func() { h.Record(1000) })
		for word.Load() == dead {
			runtime.Gosched()
		}
		h.state.Store(current)
		wg.Wait()
		if word.Load()&dead == 0 {
			continue // so many additions before this goroutine ran again that the word is not dead any more
		}
		if n := snapshot(h).Count(); n != before+1 {
			t.Errorf("count is %d, want %d", n, before+1)
		}
		return
	}
	t.Skip("the machine is too busy")
}

// Snapshots are consistent while all that is recorded changes more than a word.
func TestSnapshotWhileTheLockIsHeld(t *testing.T) {
	t.Parallel()
	const value = 1 << 50 // wide: without a hot word
	h := newHistogram(t, DefaultLayout(Nanosecond), value)
	check := func(s *Snapshot) {
		if want := sumOf(s.Count(), value); s.sum != want {
			t.Errorf("the sum of %d values is %v, want %v", s.Count(), s.sum, want)
		}
	}

	// In the middle of a change.
	h.lock()
	h.addSum(uint128{0, value})
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		close(started)
		check(snapshot(h))
	})
	<-started
	for range 100 {
		runtime.Gosched()
	}
	h.addCount(h.grid.position(value)>>h.state.Load().shift, 1)
	h.unlock()
	wg.Wait()

	// When one comes after the other.
	var done atomic.Bool
	wg.Go(func() {
		for range 20_000 {
			h.Record(value)
		}
		done.Store(true)
	})
	var s Snapshot
	for !done.Load() {
		h.Snapshot(&s)
		check(&s)
	}
	wg.Wait()
}

func TestSnapshotTakesNoLock(t *testing.T) {
	t.Parallel()
	h := newHistogram(t, DefaultLayout(Nanosecond), 1, 2, 3)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := snapshot(h).Count(); n != 3 {
		t.Errorf("count is %d, want 3", n)
	}
}

// When changes never pause, a snapshot takes the lock in the end.
func TestSnapshotOfAHistogramThatNeverRests(t *testing.T) {
	t.Parallel()
	h := newHistogram(t, DefaultLayout(Nanosecond), 1, 2, 3)
	h.version.Add(1)
	if n := snapshot(h).Count(); n != 3 {
		t.Errorf("count is %d, want 3", n)
	}
}

// What a snapshot held before does not show in it afterwards.
func TestSnapshotIsReused(t *testing.T) {
	t.Parallel()
	full := newHistogram(t, DefaultLayout(Nanosecond), logNormals(1, 10_000, 1)...)
	few := []int64{0, 5, -1}
	s := new(Snapshot)
	full.Snapshot(s)
	newHistogram(t, DefaultLayout(Integer), few...).Snapshot(s)
	mustEqual(t, "few values", s, snapshotOf(DefaultLayout(Integer), few))
	newHistogram(t, DefaultLayout(Integer)).Snapshot(s)
	mustEqual(t, "no values", s, &Snapshot{layout: DefaultLayout(Integer)})
	s.Reset()
	mustEqual(t, "after Reset", s, &Snapshot{})
}

func TestNewLayoutNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		layout Layout
		want   string
	}{
		{Layout{Unit: units, Schema: 5, MaxBuckets: 640}, "Unit is 4"},
		{Layout{Schema: 9, MaxBuckets: 640}, "Schema is 9"},
		{Layout{Schema: -5, MaxBuckets: 640}, "Schema is -5"},
		{Layout{Schema: 5, MaxBuckets: 4}, "MaxBuckets is 4"},
		{Layout{}, "MaxBuckets is 0"},
	} {
		if _, err := NewLayout(test.layout); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("NewLayout(%+v): error %v, want one with %q", test.layout, err, test.want)
		}
	}
}

func TestNewPanicsWithoutUnit(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New(Unit(9)) does not panic")
		}
	}()
	New(Unit(9))
}

func TestAllocations(t *testing.T) {
	values := logNormals(1, 4096, 1)
	h := New(Nanosecond)
	for range 2 * warm {
		for _, n := range values {
			h.Record(n)
		}
	}
	var s Snapshot
	h.Snapshot(&s)
	quantiles := make([]float64, 0, 7)
	other := New(Nanosecond)
	falling := int64(1 << 32)
	falls := New(Nanosecond)
	for range 2 * warm {
		falls.Record(falling)
	}
	for name, f := range map[string]func(){
		"Record": func() {
			for _, n := range values {
				h.Record(n)
			}
			h.Record(0)
			h.Record(-1)
		},
		"Record in wide buckets": func() {
			for range 2 * warm {
				other.Record(math.MaxInt64)
			}
		},
		"Record of new extremes in a bucket with a hot word": func() {
			for range warm {
				falling--
				falls.Record(falling)
			}
		},
		"Snapshot":        func() { h.Snapshot(&s) },
		"AppendQuantiles": func() { quantiles = s.AppendQuantiles(quantiles[:0], .5, .75, .9, .95, .99, .999, .9999) },
		"Snapshot.Merge": func() {
			if err := s.Merge(&s); err != nil {
				t.Error(err)
			}
		},
	} {
		f()
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// heapOf returns the memory of what makeOne makes, in bytes.
func heapOf(makeOne func() *Histogram) uint64 {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	hs := make([]*Histogram, 100)
	before := heap()
	for i := range hs {
		hs[i] = makeOne()
	}
	grown := heap() - before
	runtime.KeepAlive(hs)
	return grown / uint64(len(hs))
}

func TestMemory(t *testing.T) {
	if raceDetector {
		t.Skip("memory is not that of a usual build")
	}
	New(Nanosecond) // what all share
	for _, sigma := range []float64{0.1, 0.25, 0.5, 0.75, 1, 1.5} {
		values := logNormals(1, 10_000, sigma)
		each := heapOf(func() *Histogram { return newHistogram(t, DefaultLayout(Nanosecond), values...) })
		runtime.KeepAlive(values)
		t.Logf("10,000 latencies, σ = %v: %d bytes", sigma, each)
		if each > 1024 {
			t.Errorf("10,000 latencies, σ = %v: %d bytes, at most 1024 are allowed", sigma, each)
		}
	}

	// Each of 640 buckets has a count above 32 bits, and a hot word.
	full := snapshotOf(DefaultLayout(Nanosecond), nil)
	for i := range full.layout.MaxBuckets {
		b := full.layout.bucket(full.index(1000) + i)
		one := snapshotOf(full.layout, []int64{b.High})
		for range 33 {
			mustMerge(t, one, one)
		}
		mustMerge(t, full, one)
	}
	each := heapOf(func() *Histogram {
		h := newHistogram(t, DefaultLayout(Nanosecond))
		if err := h.Merge(full); err != nil {
			t.Fatal(err)
		}
		for b := range full.All() {
			h.Record(b.High)
		}
		return h
	})
	t.Logf("%d buckets, full of counts: %d bytes", len(full.counts), each)
	if most := uint64(12 << 10); len(full.counts) != 640 || each > most {
		t.Errorf("%d buckets, full of counts: %d bytes, at most %d are allowed", len(full.counts), each, most)
	}
}
