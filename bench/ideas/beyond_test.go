// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ideas

import (
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	opa "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/bench/workload"
	regometer "github.com/regometer/regometer/metrics"
)

// Floats with few decimals, which the percentiles of integers often are,
// written as integers.

func roundNumbers() []float64 {
	numbers := make([]float64, 30)
	for i, v := range workload.Values(1, len(numbers)) {
		numbers[i] = float64(v) + 0.25*float64(i%4)
	}
	return numbers
}

func floatsByStrconv() func() []byte {
	numbers := roundNumbers()
	buf := make([]byte, 0, 4096)
	return func() []byte {
		dst := buf
		for _, f := range numbers {
			dst = append(strconv.AppendFloat(dst, f, 'f', -1, 64), ',')
		}
		return dst
	}
}

func floatsAsIntegers() func() []byte {
	numbers := roundNumbers()
	buf := make([]byte, 0, 4096)
	return func() []byte {
		dst := buf
		for _, f := range numbers {
			if n := uint64(f*100 + 0.5); float64(n)/100 == f { // f is not negative, nor large
				dst = strconv.AppendUint(dst, n/100, 10)
				if d := n % 100; d != 0 {
					dst = append(dst, '.', byte('0'+d/10))
					if d%10 != 0 {
						dst = append(dst, byte('0'+d%10))
					}
				}
			} else {
				dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
			}
			dst = append(dst, ',')
		}
		return dst
	}
}

// Boxes: 30 numbers as values of type any, each in an allocation of its own,
// or all in one array.

func boxesEach() func() []any {
	values := workload.Values(1, 30)
	boxed := make([]any, len(values))
	return func() []any {
		for i, v := range values {
			boxed[i] = v
		}
		return boxed
	}
}

func boxesShared() func() []any {
	values := workload.Values(1, 30)
	boxed := make([]any, len(values))
	return func() []any {
		room := make([]int64, len(values))
		for i, v := range values {
			room[i] = v
			boxed[i] = int64(0)
			// An any is the type, and a pointer to the value.
			(*[2]unsafe.Pointer)(unsafe.Pointer(&boxed[i]))[1] = unsafe.Pointer(&room[i])
		}
		return boxed
	}
}

// Clock: two readings and their difference, by time.Now and time.Since, as
// OPA's timer takes them, or as times since a base. The benchmarks time
// nothing; the test times a sleep in virtual time.

var base = time.Now()

func elapsedByNow(what func()) int64 {
	start := time.Now()
	what()
	return time.Since(start).Nanoseconds()
}

func elapsedSinceBase(what func()) int64 {
	start := time.Since(base)
	what()
	return int64(time.Since(base) - start)
}

func nothing() {}

func nowClock() func() bool { return func() bool { return elapsedByNow(nothing) >= 0 } }

func baseClock() func() bool { return func() bool { return elapsedSinceBase(nothing) >= 0 } }

func TestClocksAgree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{1, 12_345, 48 * time.Hour} {
			sleep := func() { time.Sleep(d) }
			if got := elapsedByNow(sleep); got != int64(d) {
				t.Errorf("time.Now: %d of %d ns", got, d)
			}
			if got := elapsedSinceBase(sleep); got != int64(d) {
				t.Errorf("time since a base: %d of %d ns", got, d)
			}
		}
	})
}

// Timer: start and sum guarded by a mutex, or both atomic. Neither side reads a
// clock: the ticks are a counter.

func mutexTimer() func() int64 {
	var mu sync.Mutex
	var start, value, tick int64
	return func() int64 {
		tick += 3
		mu.Lock()
		start = tick
		mu.Unlock()
		tick += 5
		mu.Lock()
		defer mu.Unlock()
		if start != 0 {
			value += tick - start
			start = 0
		}
		return value
	}
}

func atomicTimer() func() int64 {
	var start, value atomic.Int64
	var tick int64
	return func() int64 {
		tick += 3
		start.Store(tick)
		tick += 5
		if s := start.Swap(0); s != 0 {
			return value.Add(tick - s)
		}
		return value.Load()
	}
}

// Ids: 8 places taken one after the other by compare-and-swap, of a pointer or
// of an integer that says where in a table the pointer is. The result is what
// the places refer to.

var descriptors [8]metric

func appendPointers() func() *[8]*metric {
	result := new([8]*metric)
	return func() *[8]*metric {
		places := new([8]atomic.Pointer[metric])
		for i := range places {
			if places[i].CompareAndSwap(nil, &descriptors[i]) {
				result[i] = places[i].Load()
			}
		}
		keep(places)
		return result
	}
}

func appendIDs() func() *[8]*metric {
	result := new([8]*metric)
	return func() *[8]*metric {
		places := new([8]atomic.Uint32)
		for i := range places {
			if places[i].CompareAndSwap(0, uint32(i+1)) {
				result[i] = &descriptors[places[i].Load()-1]
			}
		}
		keep(places)
		return result
	}
}

// keep lets v escape to the heap, as it does in a collection.
//
//go:noinline
func keep(v any) { kept = v }

var kept any

// Cells inline: a collection and the look-ups of a request, 4 timers and a
// counter, of OPA's package and of ours. This is the one pair that differs in
// more than one thing: OPA's three maps, mutex and separate metrics against
// one allocation, compare-and-swap and names found by address.

func opaCollection() func() json.Marshaler {
	return func() json.Marshaler {
		m := opa.New()
		m.Timer(opa.ServerHandler)
		m.Timer(opa.RegoInputParse)
		m.Timer(opa.RegoExternalResolve)
		m.Timer(opa.RegoQueryEval)
		m.Counter(opa.ServerQueryCacheHit)
		return m
	}
}

func inlineCollection() func() json.Marshaler {
	return func() json.Marshaler {
		m := regometer.New()
		m.Timer(regometer.ServerHandler)
		m.Timer(regometer.RegoInputParse)
		m.Timer(regometer.RegoExternalResolve)
		m.Timer(regometer.RegoQueryEval)
		m.Counter(regometer.ServerQueryCacheHit)
		return m
	}
}

// Priority: does a value enter a full reservoir? Of 1,000 values, a
// microsecond apart, about one in a hundred does. Both sides have the same
// random bits.

const (
	decay = 0.015              // per second
	life  = 1e9 / decay        // mean of a value's luck, in nanoseconds
	half  = 46_209_812_038     // ln 2 · life, rounded up
	bar   = int64(307 * 1e9)   // ln 100 · life: what must be exceeded
	step  = int64(1_000)       // between values
	draws = 1_000              // values
	gamma = 0x9e3779b97f4a7c15 // to make random bits of a counter
	mixer = 0xe7037ed1a0b428db // likewise
	unit  = 1 / float64(1<<53) // of a uniform random number
	round = 0.5                // so that it is never 0
)

func randomBits(n uint64) uint64 {
	hi, lo := bits.Mul64(n*gamma, n*gamma^mixer)
	return hi ^ lo
}

func uniform(r uint64) float64 { return (float64(r>>11) + round) * unit }

func priorityAsWeight() func() int {
	n := uint64(0)
	bar := math.Exp(decay * time.Duration(bar).Seconds())
	return func() int {
		entered := 0
		for i := range int64(draws) {
			n++
			age := time.Duration(i * step).Seconds()
			if math.Exp(decay*age)/uniform(randomBits(n)) > bar {
				entered++
			}
		}
		return entered
	}
}

func priorityAsTime() func() int {
	n := uint64(0)
	return func() int {
		entered := 0
		for i := range int64(draws) {
			n++
			t, r := i*step, randomBits(n)
			// The leading zeros of r bound its logarithm.
			if t+int64(bits.LeadingZeros64(r)+1)*half > bar && t+int64(-math.Log(uniform(r))*life) > bar {
				entered++
			}
		}
		return entered
	}
}

func TestSomeValuesEnter(t *testing.T) {
	t.Parallel()
	entered := 0
	for f, n := priorityAsTime(), 0; n < 100; n++ {
		entered += f()
	}
	if entered < 800 || entered > 1200 { // 1,000 expected, with a deviation of 31
		t.Errorf("%d of 100,000 values entered, want about 1,000", entered)
	}
}

// Order kept: 16 values are new among 1,028. All are sorted, or the new ones
// are and then merged. The data take turns, or the branch predictor learns
// them.

const (
	reservoir = workload.ReservoirSize
	fresh     = 16
)

func sortAll() func() []int64 {
	var sets [workload.Rotation][]int64
	for i := range sets {
		sets[i] = workload.Values(uint64(i), reservoir)
	}
	buf := make([]int64, reservoir)
	turn := 0
	return func() []int64 {
		turn++
		copy(buf, sets[turn%len(sets)])
		slices.Sort(buf)
		return buf
	}
}

func sortFreshAndMerge() func() []int64 {
	var sets [workload.Rotation][]int64
	for i := range sets {
		sets[i] = workload.Values(uint64(i), reservoir)
		slices.Sort(sets[i][fresh:])
	}
	buf := make([]int64, reservoir)
	turn := 0
	return func() []int64 {
		turn++
		set := sets[turn%len(sets)]
		var added [fresh]int64
		copy(added[:], set)
		slices.Sort(added[:])
		dst, old := buf[:0], set[fresh:]
		for _, v := range added {
			at, _ := slices.BinarySearch(old, v)
			dst = append(append(dst, old[:at]...), v)
			old = old[at:]
		}
		return append(dst, old...)
	}
}

// Sums kept: mean and standard deviation of 1,028 values, of which one has
// changed. With values below 2²⁰ the exact sums fit 64 bits each; the package's
// have 128 and 192.

// moments are rounded to float32, since OPA's way, as here without the idea, is
// not exact to the last digits of a float64.
type moments struct{ mean, stddev float32 }

func smallValues() []int64 {
	values := workload.Values(1, reservoir)
	for i := range values {
		values[i] %= 1 << 20
	}
	return values
}

func sumsAnew() func() moments {
	values := smallValues()
	turn := 0
	return func() moments {
		turn++
		values[turn%reservoir] = int64(turn % 1000)
		var sum int64
		for _, v := range values {
			sum += v
		}
		mean := float64(sum) / reservoir
		var squares float64
		for _, v := range values {
			d := float64(v) - mean
			squares += d * d
		}
		return moments{float32(mean), float32(math.Sqrt(squares / reservoir))}
	}
}

func sumsKept() func() moments {
	values := smallValues()
	var sum, squares uint64
	for _, v := range values {
		sum += uint64(v)
		squares += uint64(v * v)
	}
	turn := 0
	return func() moments {
		turn++
		place := &values[turn%reservoir]
		old, v := uint64(*place), uint64(turn%1000)
		*place = int64(v)
		sum += v - old
		squares += v*v - old*old
		// √(n·Σv² − (Σv)²) / n, in 128 bits
		hi, lo := bits.Mul64(reservoir, squares)
		hi2, lo2 := bits.Mul64(sum, sum)
		lo, borrow := bits.Sub64(lo, lo2, 0)
		hi, _ = bits.Sub64(hi, hi2, borrow)
		return moments{
			float32(float64(sum) / reservoir),
			float32(math.Sqrt(float64(hi)*(1<<64)+float64(lo)) / reservoir),
		}
	}
}
