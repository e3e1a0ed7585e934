// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/logread"
)

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 1: "1 ns", 999: "999 ns", 999.6: "1.00 µs", 1000: "1.00 µs", 1234: "1.23 µs",
		9994: "9.99 µs", 9996: "10.0 µs", 12_340: "12.3 µs", 99_960: "100 µs", 123_400: "123 µs",
		999_400: "999 µs", 999_600: "1.00 ms", 1e9: "1.00 s", 61e9: "61.0 s", 1234e9: "1,234 s",
		math.MaxInt64: "9,223,372,037 s",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("%v ns: %q, want %q", ns, got, want)
		}
	}
}

func TestLongDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 1234: "1.23 µs", 119 * time.Second: "119 s", 119_600 * time.Millisecond: "1.99 min", 120 * time.Second: "2.00 min",
		119 * time.Minute: "119 min", 7180 * time.Second: "1.99 h", 120 * time.Minute: "2.00 h", 47 * time.Hour: "47.0 h", 2878 * time.Minute: "2.00 d", 48 * time.Hour: "2.00 d",
		72 * time.Hour: "3.00 d", math.MaxInt64: "106,752 d",
	} {
		if got := LongDuration(float64(d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// TestTime: times are in UTC, wherever this runs.
func TestTime(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("", 3600)
	defer func() { time.Local = local }()
	for _, c := range []struct {
		ns           int64
		layout, want string
	}{
		{logread.NoTime, ToTheSecond, "–"},
		{0, ToTheSecond, "1970-01-01 00:00:00"},
		{-1, ToTheMilli, "1969-12-31 23:59:59.999"},
		{1_772_488_800_123_456_789, ToTheMilli, "2026-03-02 22:00:00.123"},
		{1_772_488_800_123_456_789, time.RFC3339Nano, "2026-03-02T22:00:00.123456789Z"},
	} {
		if got := Time(c.ns, c.layout); got != c.want {
			t.Errorf("%d: %q, want %q", c.ns, got, c.want)
		}
	}
}
