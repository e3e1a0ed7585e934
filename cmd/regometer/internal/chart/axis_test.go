// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

func plain(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

func labels(ticks []Tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return all
}

// Whatever the values are, the axis has room for them, and some marks, but not
// too many.
func TestDurations(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		low := math.Exp(random.Float64() * math.Log(math.MaxInt64))
		high := min(low*math.Exp(random.Float64()*random.Float64()*20), math.MaxInt64)
		most := 5 + random.IntN(4)
		a := Durations(low, high, most)
		if !(a.Low <= low && high < a.High) || a.Low*5.6 < low || high*2.8 < a.High || len(a.Ticks) < 1 || len(a.Ticks) > most {
			t.Fatalf("Durations(%v, %v, %d) = %+v", low, high, most, a)
		}
	}
	if got, want := labels(Durations(0, 0, 5).Ticks), []string{"1 ns", "2 ns"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := labels(Durations(150e3, 30e6, 6).Ticks), []string{"100 µs", "1 ms", "10 ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAmounts(t *testing.T) {
	for v := 1e-3; v < 1e7; v *= 1.37 {
		a := Amounts(v, plain)
		if a.High < v || len(a.Ticks) < 2 || len(a.Ticks) > 6 || a.Ticks[0].Value != 0 {
			t.Errorf("Amounts(%v) = %+v", v, a)
		}
	}
	if got, want := labels(Amounts(10, plain).Ticks), []string{"0", "2", "4", "6", "8", "10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a := Amounts(0, plain); a.High <= 0 {
		t.Errorf("Amounts(0) = %+v", a)
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
		got := labels(Times(at(c.low), at(c.high), c.most).Ticks)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: %q, want %q", c.low, c.high, got, c.want)
		}
	}
	for span := 1.0; span < 2e10; span *= 1.5 {
		if got := Times(1e9, 1e9+span, 5).Ticks; len(got) > 6 {
			t.Errorf("%v s: %q", span, labels(got))
		}
	}
}
