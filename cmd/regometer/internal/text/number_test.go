// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows", 1234: "1,234 rows"} {
		if got := Plural(n, "row"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for part, want := range map[float64]string{
		0: "0 %", 1e-9: "<0.1 %", 0.000999: "<0.1 %", 0.001: "0.1 %", 0.1234: "12.3 %", 0.5: "50.0 %", 0.999: "99.9 %", 0.9995: ">99.9 %", 1: "100 %",
	} {
		if got := Percent(part); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 KB", 999_600: "1.00 MB", 2_345_000_000: "2.35 GB", math.MaxInt64: "9,223,372 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
