// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Histograms that grow, are reduced, are merged into and are read meanwhile
// count each value once. Most cases need many young histograms, because an old
// one does not change its words any more.
func TestRecordConcurrently(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                      string
		rounds, goroutines, times int
		bounds                    []int64
		maxBuckets                func(round int) int
		value                     func(r *rand.Rand, g, i int) int64
	}{
		{"latencies", 3, 4, 20_000, []int64{1e4, 1e5, 5e5, 1e6, 1e7, 1e9}, func(round int) int { return []int{30, 640, 10_000}[round] },
			func(r *rand.Rand, _, _ int) int64 {
				if r.IntN(50) == 0 {
					return int64(r.Uint64() >> (2 + r.IntN(50)))
				}
				return logNormal(r, 1)
			}},
		{"the schema is reduced", 40, 2, 3000, []int64{1 << 17, 199_000, 200_000, 200_001, 1 << 40}, func(round int) int { return 12 + round },
			func(r *rand.Rand, g, i int) int64 {
				if i%turns == turns-1 { // further and further out
					return []int64{200_000 >> (i / turns), 200_000 << (3 * i / turns)}[g]
				}
				return 198_000 + int64(r.IntN(4000)) // in buckets that get packed words and are cut
			}},
		{"words are replaced", 20, 4, 4000, []int64{1, 1<<30 + 1, 3 << 30}, func(int) int { return 1000 },
			func(_ *rand.Rand, _, i int) int64 { return 1 << (i % 2 * 30 * i / 4000) * int64(1+i%3) }},
		{"zeros and negative values", 1, 2, 200_000, nil, func(int) int { return 640 },
			func(_ *rand.Rand, _, i int) int64 { return -int64(i % 2) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for round := range test.rounds {
				l := Layout{Unit: Nanosecond, Schema: 5, MaxBuckets: test.maxBuckets(round), Bounds: newBounds(t, test.bounds...)}
				lists := make([][]int64, test.goroutines)
				for g := range lists {
					r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
					for i := range test.times {
						n := test.value(r, g, i)
						if n > 0 {
							n |= 1 // so that each snapshot of an odd number of values has an odd sum
						}
						lists[g] = append(lists[g], n)
					}
				}
				recordTogether(t, l, lists)
			}
		})
	}
}

// turns is the number of values after which the goroutines of recordTogether
// wait for each other.
const turns = 300

// recordTogether records each list in its own goroutine, the last tenth by way
// of another histogram. It checks snapshots meanwhile, and the last one.
func recordTogether(t *testing.T, l Layout, lists [][]int64) {
	t.Helper()
	h := newHistogram(t, l)
	want := newModel(l)
	var recorders, reader sync.WaitGroup
	var done atomic.Bool
	turn := make([]atomic.Int64, len(lists))
	for g, values := range lists {
		want = want.merge(newModel(l, values...))
		recorders.Go(func() {
			last := len(values) / 10 * 9
			for i, n := range values[:last] {
				if i%turns == turns-1 {
					turn[g].Store(int64(i))
					for spin := 0; turn[(g+1)%len(turn)].Load() < int64(i) && spin < 10_000; spin++ {
					}
				}
				h.Record(n)
			}
			if err := h.Merge(snapshot(newHistogram(t, l, values[last:]...))); err != nil {
				t.Error(err)
			}
		})
	}
	reader.Go(func() {
		var before, s Snapshot
		for !done.Load() {
			before, s = s, before
			h.Snapshot(&s)
			checkConsistent(t, &s)
			if s.count < before.count || s.negatives < before.negatives {
				t.Errorf("%d values and %d negative ones after %d and %d", s.count, s.negatives, before.count, before.negatives)
			}
			for i, n := range before.atMost {
				if s.atMost[i] < n {
					t.Errorf("the count at most %d fell from %d to %d", l.Bounds.At(i), n, s.atMost[i])
				}
			}
		}
	})
	recorders.Wait()
	done.Store(true)
	reader.Wait()
	mustEqual(t, fmt.Sprintf("%+v", l), snapshot(h), want.snapshot())
}

// checkConsistent checks what holds for any snapshot of odd values.
func checkConsistent(t *testing.T, s *Snapshot) {
	t.Helper()
	var restored Snapshot
	if err := restored.Restore(content(s)); err != nil || restored.count != s.count {
		t.Errorf("count %d, that of the buckets %d: %v", s.count, restored.count, err)
	}
	if (s.count-s.zeros)%2 != s.sum.lo%2 {
		t.Errorf("count %d and sum %v are of different recordings", s.count, s.sum)
	}
	last := s.zeros
	for i := range s.layout.Bounds.Len() {
		bound := s.layout.Bounds.At(i)
		least, most := s.zeros, s.zeros
		for b := range s.All() {
			if b.High <= bound {
				least += b.Count
			}
			if b.Low <= bound {
				most += b.Count
			}
		}
		n := s.atMost[i]
		if n < max(least, last) || n > most {
			t.Errorf("%d values are at most %d, but by the buckets %d to %d, and %d by the bound before", n, bound, least, most, last)
		}
		last = n
	}
}

// newPacked returns a histogram that has recorded 1000 so often that it has a
// packed word for it.
func newPacked(t *testing.T, bounds ...int64) (h *Histogram, word *atomic.Uint64) {
	t.Helper()
	l := DefaultLayout(Nanosecond)
	l.Bounds = newBounds(t, bounds...)
	h = newHistogram(t, l)
	recordMany(h, promoteAt-1)
	if h.packedWord(1000) != nil {
		t.Errorf("after %d values there is a packed word", promoteAt-1)
	}
	recordMany(h, 1)
	return h, h.packedWord(1000)
}

func recordMany(h *Histogram, times int) {
	for range times {
		h.Record(1000)
	}
}

func requireThousands(t *testing.T, h *Histogram, times uint64) {
	t.Helper()
	if s := snapshot(h); s.count != times || s.sum != (uint128{0, 1000 * times}) {
		t.Fatalf("count %d, sum %v, want %d times 1000", s.count, s.sum, times)
	}
}

// A goroutine that adds to a word that has just been replaced sees that the
// word is retired, and records again.
func TestRecordOnARetiredWord(t *testing.T) {
	t.Parallel()
	for _, bounds := range [][]int64{nil, {999, 1000}} { // the word of the bucket, or another one
		h, word := newPacked(t, bounds...)
		old := h.state.Load()
		for range 2 * promoteAt {
			h.Record(1_000_000)
		}
		current := h.state.Load()
		for slot := range old.words.byBucket {
			if old.words.byBucket[slot].Load() != retired {
				t.Fatalf("word %d of the former state is %#x, not retired", slot, old.words.byBucket[slot].Load())
			}
		}
		if word.Load() != retired {
			t.Fatalf("the old word of 1000 is %#x, not retired", word.Load())
		}
		for try := 0; ; try++ {
			if try == 100 {
				t.Skip("the machine is too busy")
			}
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
			if n := snapshot(h).Count(); n != before+1 {
				t.Errorf("count is %d, want %d", n, before+1)
			}
			break
		}
	}
}

// While a word is emptied again and again, no addition to it is lost.
func TestRecordWhileAWordIsEmptied(t *testing.T) {
	t.Parallel()
	const times = 1_000_000
	h, _ := newPacked(t)
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		defer done.Store(true)
		recordMany(h, times)
	})
	for !done.Load() {
		h.flush(1000)
	}
	wg.Wait()
	requireThousands(t, h, promoteAt+times)
}

// A goroutine that has filled a word and waits for the lock may find the word
// replaced, and leaves it alone.
func TestFlushAfterReplacement(t *testing.T) {
	t.Parallel()
	for range 10 {
		h, word := newPacked(t)
		n := uint64(promoteAt + countFull>>sumBits - 1)
		recordMany(h, countFull>>sumBits-1)
		var wg sync.WaitGroup
		h.lock()
		wg.Go(func() { recordMany(h, 1) })
		for word.Load()&countFull == 0 {
			runtime.Gosched()
		}
		h.include(1, 1_000_000)
		h.promote(h.grid.Position(1_000_000) >> h.state.Load().shift)
		h.unlock()
		wg.Wait()
		if word.Load() != retired {
			t.Fatalf("the word is %#x, not just retired", word.Load())
		}
		requireThousands(t, h, n+1)
	}
}

// A change of more than a word waits for the lock, and snapshots see it by the
// version.
func TestChangesWaitForTheLock(t *testing.T) {
	t.Parallel()
	h, word := newPacked(t)
	recordMany(h, 1)
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

// A snapshot waits for the end of a change, but takes no lock unless changes
// never pause. It is consistent also if all recordings change more than a word.
func TestSnapshotAndTheLock(t *testing.T) {
	t.Parallel()
	const value = math.MaxInt64 / 3 // wide: without a packed word
	h := newHistogram(t, DefaultLayout(Nanosecond), value)
	check := func() {
		s := snapshot(h)
		if s.sum != times(s.count, value) {
			t.Errorf("the sum of %d values is %v, want %v", s.count, s.sum, times(s.count, value))
		}
	}
	h.mu.Lock()
	check()
	h.mu.Unlock()

	h.lock()
	h.addSum(uint128{0, value})
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		close(started)
		check()
	})
	<-started
	time.Sleep(20 * time.Millisecond) // enough for a snapshot that does not wait
	h.addCount(h.grid.Position(value)>>h.state.Load().shift, 1)
	h.unlock()
	wg.Wait()

	var done atomic.Bool
	wg.Go(func() {
		for range 20_000 {
			h.Record(value)
		}
		done.Store(true)
	})
	for !done.Load() {
		check()
	}
	wg.Wait()

	h.version.Add(1) // a change that never ends
	check()
}
