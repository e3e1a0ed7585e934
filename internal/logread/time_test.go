// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

var timeForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d([.,]\d+)?)(Z| ?([+-]\d\d(:?\d\d)?))?( UTC)?$`)

// modelTime returns the time that parseTime should return.
func modelTime(s string) (ns int64, hasZone, ok bool) {
	if m := timeForm.FindStringSubmatch(s); m != nil {
		for _, zone := range []string{"Z07:00", "Z0700", "Z07"} {
			if at, err := time.Parse("2006-01-02 15:04:05"+zone, m[1]+" "+m[2]+cmp.Or(m[5], m[4], "Z")); err == nil && at.Year() >= 1678 && at.Year() <= 2261 {
				return at.UnixNano(), m[4]+m[7] != "", true
			}
		}
	}
	n := modelNumber(s)
	for _, unit := range []struct{ least, ns int64 }{{1e17, 1}, {1e14, 1e3}, {1e11, 1e6}, {1e8, 1e9}} {
		if n != nil && n.Cmp(new(big.Rat).SetInt64(unit.least)) >= 0 {
			n.Mul(n, new(big.Rat).SetInt64(unit.ns))
			whole := new(big.Int).Quo(n.Num(), n.Denom())
			return whole.Int64(), true, whole.IsInt64() && time.Unix(0, whole.Int64()).UTC().Year() <= 2261
		}
	}
	return 0, false, false
}

func checkTime(t *testing.T, s string) (ok bool) {
	t.Helper()
	got, hasZone, ok := parseTime([]byte(s))
	if at, inZone, want := modelTime(s); ok != want || ok && (got != at || hasZone != inZone) {
		t.Fatalf("%q: %d, %t, %t, want %d, %t, %t", s, got, hasZone, ok, at, inZone, want)
	}
	for _, before := range []string{"", "2026-01-02T03:04:07Z", s} {
		var c clock
		c.parse([]byte(before))
		if ns, read := c.parse([]byte(s)); read != (ok && s[len(s)-1] == 'Z') || read && ns != got {
			t.Fatalf("%q behind %q: %d, %t, want %d, %t", s, before, ns, read, got, ok)
		}
	}
	return ok
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "Z", "2026-01-02T03:04:05.1234567891Z", "2026-01-02T03:04:05.Z", "2026-02-29T00:00:00Z", "1969-12-31T23:59:59.9Z", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:0:Z", "2026-01-02T03:04:05.12345678:Z", "2026-01-02T03:04:05.1234:6789Z",
		strings.Repeat("\x00", 16) + ":05Z", "2026-01-02 3:04:05.6", "2026-01-02 03:04:05.6 +0000 UTC", "2026-01-02 03:04:05UTC", "2026-01-02  UTC", "2026-01-02 03:04:05 6Z", "2026-01-02T03:04:05." + strings.Repeat("3", 99),
	} {
		checkTime(t, s)
	}
	last := time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	rolls(t, 50_000, 50_000, func(r *rand.Rand) bool {
		s := time.Unix(r.Int64N(last), r.Int64N(1e9)).UTC().Truncate(oneOf(r, 1, 1, time.Millisecond)).Format(time.RFC3339Nano)
		if r.IntN(2) == 0 {
			s = strings.Replace(s[:len(s)-1], "T", " ", 1) + oneOf(r, "", "Z", "+00", "-0130", " +01:00", " UTC")
		}
		b := []byte(s)
		b[r.IntN(len(b))] = "0123456789-:.TZ+ "[r.IntN(17)]
		checkTime(t, string(b))
		return checkTime(t, s)
	})
}
