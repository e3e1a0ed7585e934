// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
	"github.com/regometer/regometer/internal/logread"
)

// An error of Each ends the reading, unless that was interrupted before.
func TestEachFails(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "log"), sampleText(t, samplelog.Options{Size: 20 << 20}))
	failure := errors.New("no space left")
	for _, interrupted := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var calls atomic.Int64
		x, err := Read(ctx, Options{
			Inputs: []string{file}, Workers: 2,
			Each: func(func(int32) string, func(*logread.Event) func() Place) func(*logread.Event, [][]byte) error {
				return func(*logread.Event, [][]byte) error {
					if calls.Add(1) < 100 {
						return nil
					}
					if interrupted {
						cancel()
						return nil
					}
					return failure
				}
			},
		})
		switch {
		case interrupted && (err != nil || !x.Report().Interrupted || int64(x.Report().Total.Decisions) != calls.Load()):
			t.Errorf("interrupted: got %v after %d calls", err, calls.Load())
		case !interrupted && (!errors.Is(err, failure) || x != nil || calls.Load() > 101): // one of each worker
			t.Errorf("got %v after %d calls, want %v", err, calls.Load(), failure)
		}
	}
}

// Each decision has the names of its metrics, also of those for which groups
// have no room.
func TestEachKeys(t *testing.T) {
	t.Parallel()
	const names = 300 // more than have room
	var log strings.Builder
	for i := range 2 * names {
		fmt.Fprintf(&log, `{"decision_id":"a","labels":{},"metrics":{"timer_t%d_ns":%d,"counter_c%d":%[2]d,"timer_rego_query_eval_ns":%[2]d}}`+"\n", i%names, 1000+i%names, i%names)
	}
	decisions := 0
	readLog(t, log.String(), Options{Workers: 1, Each: func(key func(int32) string, _ func(*logread.Event) func() Place) func(*logread.Event, [][]byte) error {
		return func(e *logread.Event, _ [][]byte) error {
			got, n := map[string]int64{}, int64(1000+decisions%names)
			for _, m := range e.Measures {
				got[key(m.Metric)] = m.Value
			}
			want := map[string]int64{fmt.Sprintf("timer_t%d_ns", n-1000): n, fmt.Sprintf("counter_c%d", n-1000): n, "timer_rego_query_eval_ns": n}
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			decisions++
			return nil
		}
	}})
	if decisions != 2*names {
		t.Errorf("%d decisions", decisions)
	}
}

// The place of each decision is known in the end, also of a file that several
// workers read in parts.
func TestEachPlaces(t *testing.T) {
	defer func(least int64) { leastPart = least }(leastPart)
	leastPart = 4 << 10
	const decisions = 1000
	file := write(t, t.TempDir()+"/log", strings.Repeat(`{"decision_id":"1","path":"p","labels":{}}`+"\n", decisions))
	var mu sync.Mutex
	var places []func() Place
	readAll(t, Options{
		Inputs: []string{file}, Workers: 2,
		Each: func(_ func(int32) string, place func(*logread.Event) func() Place) func(*logread.Event, [][]byte) error {
			return func(e *logread.Event, _ [][]byte) error {
				mu.Lock()
				defer mu.Unlock()
				places = append(places, place(e))
				return nil
			}
		},
	})
	seen := map[Place]bool{}
	for _, place := range places {
		seen[place()] = true
	}
	if len(seen) != decisions || !seen[Place{file, 1}] || !seen[Place{file, decisions}] {
		t.Errorf("%d places", len(seen))
	}
}

// Each gets the keys of a decision that may be in several groups.
func TestEachGroups(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{"path": "[]", "input:user": "[a b]", "rule:x": "[(none)]"} {
		readLog(t, `{"decision_id":"1","path":"p","input":{"user":["a","b"]}}`, Options{By: by, Each: func(func(int32) string, func(*logread.Event) func() Place) func(*logread.Event, [][]byte) error {
			return func(_ *logread.Event, keys [][]byte) error {
				if got := fmt.Sprintf("%s", keys); got != want {
					t.Errorf("--by %s: got %s, want %s", by, got, want)
				}
				return nil
			}
		}})
	}
}
