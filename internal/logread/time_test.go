// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// timeOf returns what an event says of its time, and whether it has a zone. The
// event before it may have a time in the same second.
func timeOf(s string) (at time.Time, hasZone, ok bool) {
	const event = `{"decision_id":"d","path":"p","metrics":{},"timestamp":%s}` + "\n"
	got := readAll(fmt.Sprintf(event+event, quoted(s[:min(len(s), len("2006-01-02T15:04:05."))]+"5Z"), quoted(s)))
	ns := got.Events[1].Time
	return time.Unix(0, ns).UTC(), !strings.Contains(fmt.Sprint(got.Problems), " at 2"), ns != NoTime
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	const invalid, noZone = "", "2026-01-02T03:04:05.6Z, no zone"
	for s, want := range map[string]string{
		"": invalid, "Z": invalid, "2026-01-02T03:04:05.1234567891Z": "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.Z": invalid, "2026-02-29T00:00:00Z": invalid,
		"1969-12-31T23:59:59.9Z": "1969-12-31T23:59:59.9Z", "0001-01-01T00:00:00Z": invalid, "9999-01-01T00:00:00Z": invalid, "2026-01-02T03:04:60Z": invalid, "2026-01-02T03:04:0:Z": invalid,
		"2026-01-02T03:04:05.12345678:Z": invalid, "2026-01-02T03:04:05.1234:6789Z": invalid, strings.Repeat("\x00", 20) + "5Z": invalid, "9999-01-01T00:00:00.5Z": invalid, "2026-01-02T03:04:05.6z": invalid, "2026-01-02 3:04:05.6": noZone,
		"2026-01-02 03:04:05.6": noZone, "2026-01-02T03:04:05,6": noZone, "2026-01-02 03:04:05.6 +0000 UTC": "2026-01-02T03:04:05.6Z", "2026-01-02 03:04:05 UTC": "2026-01-02T03:04:05Z", "2026-01-02 03:04:05UTC": invalid,
		"2026-01-02  UTC": invalid, "2026-01-02 03:04:05 6Z": invalid, "2026-01-02T03:04:05." + strings.Repeat("3", 99): "2026-01-02T03:04:05.333333333Z, no zone",
	} {
		at, hasZone, ok := timeOf(s)
		got := at.Format(time.RFC3339Nano)
		if !hasZone {
			got += ", no zone"
		}
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
	last := time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	rolls(t, 10_000, 10_000, func(r *rand.Rand) bool {
		want := time.Unix(r.Int64N(last), r.Int64N(1e9)).UTC().Truncate(oneOf(r, 1, 1, time.Millisecond))
		form := oneOf(r, "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999 Z07:00", "2006-01-02 15:04:05.999999999 UTC")
		zone := oneOf(r, 0, -90*60, 3600)
		if !strings.Contains(form, "Z07") || strings.HasSuffix(form, "Z07") && zone%3600 != 0 || strings.Contains(form, " Z") {
			zone = 0
		}
		s := strings.Replace(want.In(time.FixedZone("", zone)).Format(form), " Z", "Z", 1)
		at, hasZone, ok := timeOf(s)
		if !at.Equal(want) || hasZone != (len(form) != len("2006-01-02 15:04:05.999999999")) {
			t.Fatalf("%q: %v, %t, want %v", s, at, hasZone, want)
		}
		return ok
	})
}
