// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func checkTime(t *testing.T, s string) (ok bool) {
	t.Helper()
	got, ok := parseTime([]byte(s))
	at, err := time.Parse(time.RFC3339, s)
	want := err == nil && at.Year() >= 1678 && at.Year() <= 2261
	if ok != want || ok && got != at.UnixNano() {
		t.Fatalf("%q: %d, %t, want %v, %v", s, got, ok, at, err)
	}
	for _, before := range []string{"", "2026-01-02T03:04:07Z", s} {
		var c clock
		c.parse([]byte(before))
		if ns, read := c.parse([]byte(s)); ns != got || read != ok {
			t.Fatalf("%q behind %q: %d, %t, want %d, %t", s, before, ns, read, got, ok)
		}
	}
	return ok
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.6Z", "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.1234567891Z", "2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05.5-23:59", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02t03:04:05z", "2026-02-29T00:00:00Z",
		"2024-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.9Z", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z",
		"2199-12-31T23:59:59.999999999Z", "2200-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-02T24:00:00Z",
		"2026-01-02T23:60:00Z", "2026-01-02T23:00:60Z", "2026-01-02T03:04:05,6Z", "2026-01-02T03:04:05.xZ", "20x6-01-02T03:04:05Z", "2026-1-02T03:04:05Z", "2026-01-02T03:04:05.6ZZ",
		"2026-01-02T03:04x05Z", strings.Repeat("\x00", 16) + ":05Z",
	} {
		checkTime(t, s)
	}
	last := time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	rolls(t, 50_000, 50_000, func(r *rand.Rand) bool {
		s := time.Unix(r.Int64N(last), r.Int64N(1e9)).UTC().Truncate(oneOf(r, 1, 1, time.Millisecond)).Format(time.RFC3339Nano)
		b := []byte(s)
		b[r.IntN(len(b))] = "0123456789-:.TZ+ "[r.IntN(17)]
		checkTime(t, string(b))
		return checkTime(t, s)
	})
}
