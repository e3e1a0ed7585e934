// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/regometer/regometer/metrics"
)

// These are all the cases in which package metrics answers differently from
// OPA, each with OPA's answer beside ours. If a test fails on OPA's side, OPA
// has changed, and the difference may be gone. If a step of the series for OPA
// removes the difference, an OPA with that step must be right.

// histogramOf returns the fields of a histogram of these values in both
// packages.
func histogramOf(values ...int64) (ours, opas map[string]any) {
	o, p := metrics.New().Histogram("h"), opa.New().Histogram("h")
	for _, v := range values {
		o.Update(v)
		p.Update(v)
	}
	return o.Value().(map[string]any), p.Value().(map[string]any)
}

// OPA adds the values up in an int64, which overflows: the mean of two large
// numbers is negative, and the standard deviation, which is taken from it, too
// large. Ours is exact.
func TestDifferenceMeanOverflow(t *testing.T) {
	ours, opas := histogramOf(math.MaxInt64, math.MaxInt64)
	if opas["mean"] != -1.0 || opas["stddev"].(float64) < 1e18 {
		t.Errorf("OPA: mean %v, stddev %v; expected the overflow", opas["mean"], opas["stddev"])
	}
	if ours["mean"] != float64(math.MaxInt64) || ours["stddev"] != 0.0 {
		t.Errorf("ours: mean %v, stddev %v; want %v and 0", ours["mean"], ours["stddev"], float64(math.MaxInt64))
	}
	ours, opas = histogramOf(math.MinInt64, math.MinInt64, math.MaxInt64)
	want := -float64(1<<63)/3 - 1./3
	if got := opas["mean"].(float64); got < -1<<62 {
		t.Errorf("OPA: mean %v; expected the overflow", got)
	}
	if math.Abs(ours["mean"].(float64)-want) > math.Abs(want)*1e-15 {
		t.Errorf("ours: mean %v, want %v", ours["mean"], want)
	}
}

// OPA's Statistics is a histogram, so of more than 1,028 numbers it describes a
// random sample. Ours is exact, as it has all the numbers.
func TestDifferenceStatisticsOfManyNumbers(t *testing.T) {
	const n = 100_001
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	opas := opa.Statistics(numbers...).(map[string]any)
	// A sample holds both ends with a probability of 1 in 10,000, and has the
	// right mean in addition in 1 of many more.
	if opas["min"] == int64(0) && opas["max"] == int64(n-1) && opas["mean"] == (n-1)/2. {
		t.Errorf("OPA is exact: %v", opas)
	}
	ours := metrics.Statistics(numbers...).(map[string]any)
	want := map[string]any{
		"count": int64(n), "min": int64(0), "max": int64(n - 1), "mean": (n - 1) / 2.,
		"stddev": math.Sqrt((n*n - 1) / 12.), "median": 50_000.,
	}
	for field, w := range want {
		if ours[field] != w {
			t.Errorf("ours: %s is %v, want %v", field, ours[field], w)
		}
	}
	for field, p := range map[string]float64{"75%": .75, "90%": .9, "95%": .95, "99%": .99, "99.9%": .999, "99.99%": .9999} {
		if got, want := ours[field].(float64), p*(n+1)-1; math.Abs(got-want) > 1e-9*n {
			t.Errorf("ours: %s is %v, want %v", field, got, want)
		}
	}
}

// OPA makes room in a full reservoir before it looks at the newest value's
// priority, so the newest value is always in. By the definition of the sample
// it enters like any other: of five reservoirs' worth of values at the same
// time, it is in one sample of five.
//
// Ours fails this test with a probability of less than 1e-6.
func TestDifferenceNewestValue(t *testing.T) {
	const histograms, reservoirs = 200, 5
	synctest.Test(t, func(t *testing.T) {
		var ours, opas int
		for range histograms {
			o, p := metrics.New().Histogram("h"), opa.New().Histogram("h")
			for range reservoirs*reservoirSize - 1 {
				o.Update(0)
				p.Update(0)
			}
			o.Update(1)
			p.Update(1)
			ours += int(o.Value().(map[string]any)["max"].(int64))
			opas += int(p.Value().(map[string]any)["max"].(int64))
		}
		// Binomial: mean 40, standard deviation 5.7.
		check := func(side string, n int) {
			if n < 7 || n > 73 {
				t.Errorf("%s: the newest value is in %d of %d samples, want about %d", side, n, histograms, histograms/reservoirs)
			}
		}
		check("ours", ours)
		if mended(t, "logarithmic-priorities") {
			check("OPA", opas)
		} else if opas != histograms {
			t.Errorf("OPA: the newest value is in %d of %d samples; expected all", opas, histograms)
		}
	})
}

// OPA's priorities leave the range of a float64 after 13 hours without an
// update. Up to 13.8 hours, the next value's is infinite, so that it stays in
// the sample for good; after more, it becomes not a number when it is rescaled,
// and the value is lost before those that are hours older. Ours are logarithms.
func TestDifferenceIdleHours(t *testing.T) {
	const marked = 1_000_000
	type histogram interface {
		Update(int64)
		Value() any
	}
	ours := func() histogram { return metrics.New().Histogram("h") }
	opas := func() histogram { return opa.New().Histogram("h") }
	holdsMarked := func(h histogram) bool { return h.Value().(map[string]any)["max"] == int64(marked) }

	stays := func(newHistogram func() histogram) (stays bool) {
		synctest.Test(t, func(*testing.T) {
			h := newHistogram()
			for range reservoirSize {
				h.Update(0)
			}
			time.Sleep(13*time.Hour + 30*time.Minute)
			h.Update(marked)
			for range 10 {
				time.Sleep(2 * time.Hour)
				for range 3 * reservoirSize {
					h.Update(1)
				}
			}
			stays = holdsMarked(h)
		})
		return stays
	}
	fixed := mended(t, "logarithmic-priorities")
	if got := stays(opas); got == fixed {
		t.Errorf("OPA: a value that came after 13.5 hours is there 20 hours later: %t; expected %t", got, !fixed)
	}
	if stays(ours) {
		t.Error("ours: a value is still there after 20 hours and thousands of newer ones")
	}

	lost := func(newHistogram func() histogram) (lost bool) {
		synctest.Test(t, func(*testing.T) {
			h := newHistogram()
			for range reservoirSize {
				h.Update(0)
			}
			time.Sleep(14 * time.Hour)
			h.Update(marked)
			h.Update(1)
			h.Update(1)
			lost = !holdsMarked(h)
		})
		return lost
	}
	if got := lost(opas); got == fixed {
		t.Errorf("OPA: a value that came after 14 hours is lost: %t; expected %t", got, !fixed)
	}
	if lost(ours) {
		t.Error("ours: a new value is lost, and those that are 14 hours older are there")
	}
}

// OPA rounds the mean before it subtracts it, so that huge equal numbers have a
// standard deviation. Ours is exact before the last step.
func TestDifferenceStdDevOfHugeEqualValues(t *testing.T) {
	const v = 1<<60 + 127
	ours, opas := histogramOf(v, v, v)
	if opas["stddev"] == 0.0 {
		t.Error("OPA: stddev of equal values is 0; expected a rounding error")
	}
	if ours["stddev"] != 0.0 {
		t.Errorf("ours: stddev of equal values is %v", ours["stddev"])
	}
	if ours["mean"] != opas["mean"] {
		t.Errorf("mean is %v, OPA's %v", ours["mean"], opas["mean"])
	}
}

// The bytes of an unchanged collection are the same each time. OPA's change: it
// adds the squares for the standard deviation up in the random order of its
// reservoir.
func TestDifferenceRepeatableStdDev(t *testing.T) {
	texts := map[string]bool{}
	opas := map[string]bool{}
	for range 50 {
		ours, opa := metrics.New(), opa.New()
		for i := range int64(500) {
			ours.Histogram("h").Update(i * i * i)
			opa.Histogram("h").Update(i * i * i)
		}
		b, err := json.Marshal(ours)
		if err != nil {
			t.Fatal(err)
		}
		texts[string(b)] = true
		if b, err = json.Marshal(opa); err != nil {
			t.Fatal(err)
		}
		opas[string(b)] = true
	}
	if len(texts) != 1 {
		t.Errorf("ours: %d texts of the same values", len(texts))
	}
	if len(opas) == 1 {
		t.Error("OPA: one text of the same values; expected several")
	}
}

// reflect.DeepEqual compares the fields of a type. OPA's collections have maps
// by name, so that collections of equal timers and counters are deeply equal in
// any order. Ours have names in the order of their appearance. The results of
// All are deeply equal in both.
func TestDifferenceDeepEqual(t *testing.T) {
	ours, opas := [2]metrics.Metrics{metrics.New(), metrics.New()}, [2]opa.Metrics{opa.New(), opa.New()}
	for i, names := range [][]string{{"x", "y"}, {"y", "x"}} {
		for _, name := range names {
			ours[i].Counter(name)
			opas[i].Counter(name)
		}
	}
	if !reflect.DeepEqual(ours[0].All(), ours[1].All()) || !reflect.DeepEqual(opas[0].All(), opas[1].All()) {
		t.Error("All of two collections differs")
	}
	// With this step OPA's holds its first names in the order of their
	// appearance, too.
	if got, want := reflect.DeepEqual(opas[0], opas[1]), !mended(t, "one-allocation"); got != want {
		t.Errorf("OPA: two collections are deeply equal: %t; expected %t", got, want)
	}
	if reflect.DeepEqual(ours[0], ours[1]) {
		t.Error("ours: two collections are deeply equal; expected a difference")
	}
}

// fmt prints the fields of a handle, which are internals, and vary with OPA's
// version too. The type behind New has another name, which %T, %#v and the errors
// of encoding/gob show. All other types have the names of OPA's.
func TestDifferencePrinting(t *testing.T) {
	ours, opas := metrics.New(), opa.New()
	if got, want := fmt.Sprint(ours.Timer("a")), fmt.Sprint(opas.Timer("a")); got == want {
		t.Errorf("a timer is printed as %q in both; expected a difference", got)
	}
	if a, b := fmt.Sprintf("%T", opas), fmt.Sprintf("%T", ours); a != "*metrics.metrics" || b != "*metrics.collection" {
		t.Errorf("the types are OPA's %s and ours %s", a, b)
	}
	if a, b := fmt.Sprintf("%T", opas.Timer("a")), fmt.Sprintf("%T", ours.Timer("a")); a != b {
		t.Errorf("the types of timers are OPA's %s and ours %s", a, b)
	}
}
