// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/race"
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

// A schema may be reduced so far that none of the packed words' buckets may
// have one any more.
func TestReducedBeyondPackedWords(t *testing.T) {
	t.Parallel()
	fine, coarse := DefaultLayout(Nanosecond), DefaultLayout(Nanosecond)
	coarse.Schema = 0
	values := slices.Repeat([]int64{24_000_000_000}, 2000)
	h := newHistogram(t, fine, values...)
	if _, packed := h.packedWord(values[0]); !packed {
		t.Fatal("no packed word")
	}
	if err := h.Merge(snapshotOf(coarse, nil)); err != nil {
		t.Fatal(err)
	}
	if _, packed := h.packedWord(values[0]); packed {
		t.Fatal("a packed word still")
	}
	h.Record(values[0])
	mustEqual(t, "reduced", snapshot(h), snapshotOf(coarse, append(values, values[0])))
}

// The range of the buckets grows in steps of several: by values that each are a
// bucket above the last, or below it, every end of a step is met. Counts of
// many values are not as densely packed as those of few.
func TestRangeGrowsByOneBucket(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	for _, doublings := range []int{0, 10, 20, 40} {
		for _, step := range []int{1, -1} {
			h, want := newHistogram(t, l), snapshotOf(l, nil)
			first := want.layout.index(1_000_000)
			for i := range 200 {
				one := snapshotOf(l, []int64{l.bucket(first + step*i).High})
				for range doublings {
					mustMerge(t, one, one)
				}
				if err := h.Merge(one); err != nil {
					t.Fatal(err)
				}
				mustMerge(t, want, one)
				mustEqual(t, fmt.Sprintf("%d buckets of 2^%d values, step %d", i+1, doublings, step), snapshot(h), want)
				if n := h.state.Load().counters.len(); n > i+1+2*chunk {
					t.Fatalf("%d counters for %d buckets", n, i+1)
				}
			}
		}
	}
}

// A schema that is reduced takes the counters of fewer buckets, not of more.
func TestCountersOfReducedSchema(t *testing.T) {
	t.Parallel()
	fine, coarse := DefaultLayout(Nanosecond), DefaultLayout(Nanosecond)
	coarse.Schema -= 3
	h := newHistogram(t, fine, 1_000_000, 9_000_000)
	before := h.state.Load().counters.len()
	if err := h.Merge(snapshotOf(coarse, nil)); err != nil {
		t.Fatal(err)
	}
	if s := h.state.Load(); s.shift == 0 {
		t.Fatal("the schema is not reduced")
	} else if n := s.counters.len(); n > before {
		t.Errorf("%d counters, %d before the schema was reduced", n, before)
	}
}

// The first and the last of the packed words are emptied like those between.
func TestFirstAndLastPackedWord(t *testing.T) {
	l := DefaultLayout(Nanosecond)
	for _, end := range []string{"first", "last"} {
		h := newHistogram(t, l)
		record := func(n int64, times int) {
			for range times {
				h.Record(n)
			}
		}
		record(1_000_000, 1)
		record(2_000_000, 1)
		record(1_500_000, 1000) // many enough for packed words
		s := h.state.Load()
		slot := 0
		if end == "last" {
			slot = len(s.words.byBucket) - 1
		}
		if slot < 0 {
			t.Fatal("no packed words")
		}
		n := h.grid.Lower[(s.words.first+slot)<<s.shift] + 1
		const times = 140_000 // more than a word can count
		record(n, times)
		if s := h.state.Load(); h.grid.Position(n)>>s.shift-s.words.first != slot {
			t.Fatalf("the %s word is not that of %d any more", end, n)
		}
		got := snapshot(h)
		if want := 1_000_000 + 2_000_000 + 1000*1_500_000 + times*n; got.sum.lo != uint64(want) || got.count != times+1002 {
			t.Errorf("the %s word: count %d and sum %d, want %d and %d", end, got.count, got.sum.lo, times+1002, want)
		}
	}
}

// A packed word has to be emptied before its count or its sum overflows.
func TestRecordManyOfOneBucket(t *testing.T) {
	t.Parallel()
	fine := DefaultLayout(Nanosecond)
	coarse := Layout{Unit: Integer, Schema: 0, MaxBuckets: 640}
	coarsest := Layout{Unit: Integer, Schema: MinSchema, MaxBuckets: 640}
	for _, test := range []struct {
		layout Layout
		n      int64
		packed bool
	}{
		{fine, 1, true},              // no excess
		{fine, 1_000_000_000, true},  // a bucket of 20 ms
		{fine, 24_000_000_000, true}, // about the widest with a packed word
		{fine, 1_000_000_000_000, false},
		{fine, 1 << 50, false},
		{fine, math.MaxInt64, false},
		{coarse, 1 << 30, true}, // exactly the widest: 2^29
		{coarse, 1 << 31, false},
		{coarsest, 1 << 16, true},
		{coarsest, 1 << 32, false},
		{coarsest, math.MaxInt64, false},
	} {
		l := test.layout
		b := l.bucket(l.index(test.n))
		n := b.High // the greatest excess
		for _, bounds := range []*Bounds{nil, newBounds(t, max(n-1, 1)), newBounds(t, slices.Compact([]int64{max(n-2, 1), max(n-1, 1), n})...)} {
			l.Bounds = bounds
			for n := n; n >= max(b.Low, b.High-1); n-- { // above the bound, and it
				const times = 140_000 // more than a word can count
				h := newHistogram(t, l)
				for range times {
					h.Record(n)
				}
				if _, packed := h.packedWord(n); packed != test.packed {
					t.Errorf("%d in %+v: it has a packed word: %t, want %t", n, l, packed, test.packed)
				}
				want, one := snapshotOf(l, nil), snapshotOf(l, []int64{n})
				for bit := range 18 { // times·one by doubling
					if times>>bit&1 == 1 {
						mustMerge(t, want, one)
					}
					mustMerge(t, one, one)
				}
				mustEqual(t, fmt.Sprintf("%d in %+v", n, l), snapshot(h), want)
			}
		}
	}
}

// packedWord returns the packed word that counts n, if there is one.
func (h *Histogram) packedWord(n int64) (*atomic.Uint64, bool) {
	s := h.state.Load()
	slot := h.grid.Position(n)>>s.shift - s.words.first
	if slot < 0 || slot >= len(s.words.byBucket) {
		return nil, false
	}
	return s.word(slot, n, h.grid, h.layout.Bounds), true
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
			l := Layout{Unit: Nanosecond, Schema: 5, MaxBuckets: maxBuckets, Bounds: decades(t)}
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
				byBounds := make([]uint64, l.Bounds.Len())
				for before := uint64(0); !done.Load(); before = s.Count() {
					h.Snapshot(&s)
					checkConsistent(t, &s)
					checkGrown(t, &s, byBounds)
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
	for i := range s.Layout().Bounds.Len() {
		bound := s.Layout().Bounds.At(i)
		least, most := s.Zeros(), s.Zeros()
		for b := range s.All() {
			if b.High <= bound {
				least += b.Count
			}
			if b.Low <= bound {
				most += b.Count
			}
		}
		n := s.CountAtMost(i)
		if n < least || n > most {
			t.Errorf("%d values are at most %d, by the buckets from %d to %d", n, bound, least, most)
		}
		if i > 0 && n < s.CountAtMost(i-1) {
			t.Errorf("%d values are at most %d, but %d at most %d", n, bound, s.CountAtMost(i-1), s.Layout().Bounds.At(i-1))
		}
	}
	if len(counts) == 0 {
		return
	}
	if i := s.layout.index(s.least); i != first || counts[0] == 0 {
		t.Errorf("the smallest value %d is in bucket %d, the first bucket is %d and holds %d", s.least, i, first, counts[0])
	}
	last := len(counts) - 1
	if i := s.layout.index(s.most); i != first+last || counts[last] == 0 {
		t.Errorf("the largest value %d is in bucket %d, the last bucket is %d and holds %d", s.most, i, first+last, counts[last])
	}
}

// Packed words that are replaced while others add to them lose nothing. This
// needs many young histograms, since an old one replaces none any more.
func TestRecordWhilePackedWordsAreReplaced(t *testing.T) {
	t.Parallel()
	const goroutines, each = 4, 4000
	values := make([]int64, each)
	for i := range values {
		values[i] = 1 << (i % 2 * 30 * i / each) * int64(1+i%3) // a packed word, and one beyond the others
	}
	for range 20 {
		l := Layout{Unit: Nanosecond, Schema: 5, MaxBuckets: 1000, Bounds: newBounds(t, 1, 1<<30+1, 3<<30)}
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

// Who adds to a word that has just been replaced sees that it is retired, and
// records again.
func TestRecordOnARetiredWord(t *testing.T) {
	t.Parallel()
	plain, cut := DefaultLayout(Nanosecond), DefaultLayout(Nanosecond)
	cut.Bounds = newBounds(t, 999, 1000) // beside the word of the bucket
	for _, l := range []Layout{plain, cut} {
		t.Run(fmt.Sprintf("bounds=%d", l.Bounds.Len()), func(t *testing.T) { testRetiredWord(t, newHistogram(t, l)) })
	}
}

func testRetiredWord(t *testing.T, h *Histogram) {
	for range 2 * promoteAt {
		h.Record(1000)
	}
	old := h.state.Load()
	word, _ := h.packedWord(1000)
	for range 2 * promoteAt {
		h.Record(1_000_000)
	}
	current := h.state.Load()
	for slot := range old.words.byBucket {
		if old.words.byBucket[slot].Load() != retired {
			t.Fatalf("word %d of the old ones is %#x, not retired", slot, old.words.byBucket[slot].Load())
		}
	}

	if word.Load() != retired {
		t.Fatalf("the old word of 1000 is %#x, not retired", word.Load())
	}
	for range 100 {
		before := snapshot(h).Count()
		word.Store(retired)
		h.state.Store(old) // as if it had been loaded before it was replaced
		var wg sync.WaitGroup
		wg.Go(func() { h.Record(1000) })
		for word.Load() == retired {
			runtime.Gosched()
		}
		h.state.Store(current)
		wg.Wait()
		if word.Load() == 0 {
			t.Fatal("a retired word was emptied")
		}
		if word.Load()&retired == 0 {
			continue // so many additions before this goroutine ran again that the word is not retired any more
		}
		s := snapshot(h)
		if s.Count() != before+1 {
			t.Errorf("count is %d, want %d", s.Count(), before+1)
		}
		checkConsistent(t, s)
		return
	}
	t.Skip("the machine is too busy")
}

// A bucket has its word from its 96th value on.
func TestPromotion(t *testing.T) {
	t.Parallel()
	h := newHistogram(t, DefaultLayout(Nanosecond))
	for n := 1; n <= 96; n++ {
		h.Record(1000)
		if _, packed := h.packedWord(1000); packed != (n == 96) {
			t.Errorf("after %d values: it has a packed word: %t", n, packed)
		}
	}
}

// While a word is emptied again and again, no addition to it is lost.
func TestRecordWhileAWordIsEmptied(t *testing.T) {
	t.Parallel()
	const times = 1_000_000
	h := newHistogram(t, DefaultLayout(Nanosecond))
	for range promoteAt {
		h.Record(1000)
	}
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		defer done.Store(true)
		for range times {
			h.Record(1000)
		}
	})
	for !done.Load() {
		h.flush(1000)
	}
	wg.Wait()
	if s, n := snapshot(h), uint64(promoteAt+times); s.Count() != n || s.sum != sumOf(n, 1000) {
		t.Errorf("count %d, sum %v, want %d, %v", s.Count(), s.sum, n, sumOf(n, 1000))
	}
}

// Who has filled a word and waits for the lock to empty it finds it replaced,
// and leaves it alone.
func TestFlushAfterReplacement(t *testing.T) {
	t.Parallel()
	for range 10 {
		h := newHistogram(t, DefaultLayout(Nanosecond))
		n := uint64(0)
		record := func() {
			n++
			h.Record(1000)
		}
		for range promoteAt {
			record()
		}
		word, _ := h.packedWord(1000)
		for word.Load()>>sumBits < countFull>>sumBits-1 {
			record()
		}
		var wg sync.WaitGroup
		h.lock()
		wg.Go(record)
		for word.Load()&countFull == 0 {
			runtime.Gosched()
		}
		for range 100 {
			runtime.Gosched()
		}
		h.include(1, 1_000_000)
		h.promote(h.grid.Position(1_000_000) >> h.state.Load().shift)
		h.unlock()
		wg.Wait()
		if word.Load() != retired {
			t.Fatalf("the word is %#x, not just retired", word.Load())
		}
		if s := snapshot(h); s.Count() != n || s.sum != sumOf(n, 1000) {
			t.Fatalf("count %d, sum %v, want %d, %v", s.Count(), s.sum, n, sumOf(n, 1000))
		}
	}
}

// What changes more than a word waits for the lock, and snapshots see it by the
// version.
func TestChangesWaitForTheLock(t *testing.T) {
	t.Parallel()
	h := newHistogram(t, DefaultLayout(Nanosecond), 1000)
	for range 2 * promoteAt {
		h.Record(1000)
	}
	word, _ := h.packedWord(1000)
	part := snapshot(newHistogram(t, DefaultLayout(Nanosecond), 0))
	for name, test := range map[string]struct {
		change  func()
		changed func() bool
	}{
		"a new extreme": {func() { h.Record(1 << 20) }, func() bool { return h.most.Load() == 1<<20 }},
		"a full word":   {func() { h.flush(1000) }, func() bool { return word.Load() == 0 }},
		"a merge":       {func() { _ = h.Merge(part) }, func() bool { return h.zeros.Load() == 1 }},
	} {
		var wg sync.WaitGroup
		started := make(chan struct{})
		h.lock()
		version := h.version.Load()
		wg.Go(func() {
			close(started)
			test.change()
		})
		<-started
		for range 100 {
			runtime.Gosched()
		}
		if test.changed() {
			t.Errorf("%s: it did not wait", name)
		}
		h.unlock()
		wg.Wait()
		if !test.changed() {
			t.Errorf("%s: no change", name)
		}
		if n := h.version.Load() - version; n != 3 { // with the end of ours
			t.Errorf("%s: the version rose by %d, want 3", name, n)
		}
	}
}

// Zeros and negative values of two goroutines are all counted.
func TestRecordOtherThanPositiveConcurrently(t *testing.T) {
	t.Parallel()
	const times = 1_000_000
	h := newHistogram(t, DefaultLayout(Nanosecond))
	var wg sync.WaitGroup
	var running atomic.Int64
	for range 2 {
		wg.Go(func() {
			for running.Add(1); running.Load() < 2; { // both at once
				runtime.Gosched()
			}
			for range times {
				h.Record(0)
				h.Record(math.MinInt64)
			}
		})
	}
	wg.Wait()
	if s := snapshot(h); s.Zeros() != 2*times || s.Negatives() != 2*times {
		t.Errorf("%d zeros and %d negatives, want %d each", s.Zeros(), s.Negatives(), 2*times)
	}
}

// Snapshots are consistent while all that is recorded changes more than a word.
func TestSnapshotWhileTheLockIsHeld(t *testing.T) {
	t.Parallel()
	const value = 1 << 50 // wide: without a packed word
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
	time.Sleep(20 * time.Millisecond) // enough for a snapshot that does not wait
	h.addCount(h.grid.Position(value)>>h.state.Load().shift, 1)
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
	for _, l := range []Layout{DefaultLayout(Nanosecond), bounded(t)} {
		t.Run(fmt.Sprintf("bounds=%d", l.Bounds.Len()), func(t *testing.T) { testAllocations(t, l) })
	}
}

func testAllocations(t *testing.T, l Layout) {
	values := logNormals(1, 4096, 1)
	h := newHistogram(t, l)
	for range 2 * promoteAt {
		for _, n := range values {
			h.Record(n)
		}
	}
	var s Snapshot
	h.Snapshot(&s)
	quantiles := make([]float64, 0, 7)
	other := newHistogram(t, l)
	falling := int64(1 << 32)
	falls := newHistogram(t, l)
	for range 2 * promoteAt {
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
			for range 2 * promoteAt {
				other.Record(math.MaxInt64)
			}
		},
		"Record of new extremes in a bucket with a packed word": func() {
			for range promoteAt {
				falling--
				falls.Record(falling)
			}
		},
		"Record of as many as fill a packed word": func() {
			for range 70_000 {
				h.Record(500_000) // a bound
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

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// heapOf returns the bytes that one of n values of makeOne takes on the heap.
// It measures again if they are more than most: the runtime may have allocated
// something meanwhile.
func heapOf[T any](n int, most int64, makeOne func() T) (each int64) {
	for range 3 {
		hs := make([]T, n)
		before := liveBytes()
		for i := range hs {
			hs[i] = makeOne()
		}
		each = (liveBytes() - before) / int64(len(hs))
		runtime.KeepAlive(hs)
		if each <= most {
			break
		}
	}
	return each
}

func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("memory is not that of a usual build")
	}
	New(Nanosecond) // what all share
	t.Run("bounds=none", func(t *testing.T) { testMemory(t, DefaultLayout(Nanosecond), 1024) })
	t.Run("bounds=11", func(t *testing.T) { testMemory(t, bounded(t), 1280) })
}

func testMemory(t *testing.T, l Layout, most int64) {
	for _, sigma := range []float64{0.1, 0.25, 0.5, 0.75, 1, 1.5} {
		values := logNormals(1, 10_000, sigma)
		each := heapOf(100, most, func() *Histogram { return newHistogram(t, l, values...) })
		runtime.KeepAlive(values)
		t.Logf("10,000 latencies, σ = %v: %d bytes", sigma, each)
		if each > most {
			t.Errorf("10,000 latencies, σ = %v: %d bytes, at most %d are allowed", sigma, each, most)
		}
	}

	// Each of 640 buckets has a count above 32 bits, and a packed word.
	full := snapshotOf(l, nil)
	for i := range full.layout.MaxBuckets {
		b := full.layout.bucket(full.layout.index(1000) + i)
		one := snapshotOf(full.layout, []int64{b.High})
		for range 33 {
			mustMerge(t, one, one)
		}
		mustMerge(t, full, one)
	}
	const mostOfFull = 12 << 10
	each := heapOf(100, mostOfFull, func() *Histogram {
		h := newHistogram(t, l)
		if err := h.Merge(full); err != nil {
			t.Fatal(err)
		}
		for b := range full.All() {
			h.Record(b.High)
		}
		return h
	})
	t.Logf("%d buckets, full of counts: %d bytes", len(full.counts), each)
	if len(full.counts) != 640 || each > mostOfFull {
		t.Errorf("%d buckets, full of counts: %d bytes, at most %d are allowed", len(full.counts), each, mostOfFull)
	}
}
