// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/plot"
)

func labels(ticks []plot.Tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return all
}

func TestRound(t *testing.T) {
	for _, c := range []struct{ v, down, up float64 }{
		{1, 1, 1}, {1.5, 1, 2}, {2, 2, 2}, {4.9, 2, 5}, {5, 5, 5}, {7, 5, 10}, {1000, 1000, 1000}, {1e6, 1e6, 1e6}, {999_999, 5e5, 1e6},
		{math.MaxInt64, 5e18, 1e19},
	} {
		if down, up := roundDown(c.v), roundUp(c.v); down != c.down || up != c.up {
			t.Errorf("%v is between %v and %v, want %v and %v", c.v, down, up, c.down, c.up)
		}
	}
}

// TestLatencies: whatever the values, the axis has room for them, and some
// marks, but not too many.
func TestLatencies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		low := math.Exp(random.Float64() * math.Log(math.MaxInt64))
		high := low * math.Exp(random.Float64()*random.Float64()*20)
		most := 5 + random.IntN(4)
		a := latencies(low, high, most)
		if !(a.low <= low && high < a.high) || len(a.ticks) < 1 || len(a.ticks) > most {
			t.Fatalf("latencies(%v, %v, %d) = %+v", low, high, most, a)
		}
	}
	if got, want := labels(latencies(0, 0, 5).ticks), []string{"1 ns", "2 ns"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := labels(latencies(150e3, 30e6, 6).ticks), []string{"100 µs", "1 ms", "10 ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAmounts(t *testing.T) {
	for v := 1e-3; v < 1e7; v *= 1.37 {
		a := amounts(v, threeDigitsAtMost)
		if a.high < v || len(a.ticks) < 2 || len(a.ticks) > 6 || a.ticks[0].Value != 0 {
			t.Errorf("amounts(%v) = %+v", v, a)
		}
	}
	if got, want := labels(amounts(10, threeDigitsAtMost).ticks), []string{"0", "2", "4", "6", "8", "10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a := amounts(0, threeDigitsAtMost); a.high <= 0 {
		t.Errorf("amounts(0) = %+v", a)
	}
}

func TestTimes(t *testing.T) {
	at := func(s string) float64 {
		v, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return float64(v.Unix())
	}
	for _, c := range []struct {
		low, high string
		most      int
		want      []string
	}{
		{"2026-03-02 22:00:00", "2026-03-03 01:00:00", 5, []string{"22:00", "23:00", "3 Mar", "01:00"}},
		{"2026-03-02 22:00:30", "2026-03-02 22:01:00", 4, []string{"22:00:30", "22:00:40", "22:00:50", "22:01:00"}},
		{"2026-03-02 12:00:00", "2026-03-05 12:00:00", 5, []string{"3 Mar", "4 Mar", "5 Mar"}},
		{"1969-12-31 12:00:00", "1970-01-01 12:00:00", 3, []string{"12:00", "1 Jan", "12:00"}},
		{"2020-01-01 00:00:00", "2024-01-01 00:00:00", 5, []string{"Dec 2020", "Dec 2021", "Dec 2022", "Dec 2023"}},
	} {
		got := labels(times(at(c.low), at(c.high), c.most).ticks)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: %q, want %q", c.low, c.high, got, c.want)
		}
	}
	for span := 1.0; span < 2e10; span *= 1.5 {
		if got := times(1e9, 1e9+span, 5).ticks; len(got) > 6 {
			t.Errorf("%v s: %q", span, labels(got))
		}
	}
}
