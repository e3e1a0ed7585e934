// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/logread"
)

// The text does not depend on the order of the decisions, or on how they are
// merged.
func TestUnselected(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano()
	events := []logread.Event{{Path: []byte("d"), Time: logread.NoTime}}
	for i, path := range []string{"e", "b", "c", "a`", "a`", "b"} {
		events = append(events, logread.Event{Path: []byte(path), Time: at + int64(i)*int64(time.Minute)})
	}
	for range 100 {
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		all := unselected{first: logread.NoTime, last: logread.NoTime}
		other := all
		for i := range events {
			if rand.IntN(2) == 0 {
				all.add(&events[i])
			} else {
				other.add(&events[i])
			}
		}
		all.merge(&other)
		const want = "The flags select none of 7 decisions from 2026-01-02 03:04:05 to 2026-01-02 03:09:05 UTC. " +
			"The paths are `a'`, `b`, `c` and others. Change `--path`, `--since` or `--until`."
		if got := all.text(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	one := unselected{first: logread.NoTime, last: logread.NoTime}
	one.add(&logread.Event{Path: []byte("x"), Time: logread.NoTime})
	if got, want := one.text(), "The flags select none of 1 decision. The paths are `x`. Change `--path`, `--since` or `--until`."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
