// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/samplelog"
)

// An error of Each ends the reading, unless that was interrupted before.
func TestEachFails(t *testing.T) {
	t.Parallel()
	file, _ := sample(t, "log", samplelog.Options{Size: 20 << 20, Seed: 1})
	failure := errors.New("no space left")
	for _, interrupted := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var calls atomic.Int64
		x, err := report.Read(ctx, report.Options{
			Inputs: []string{file}, Workers: 2,
			Each: func(func(int32) string) func(*decisionlog.Event) error {
				return func(*decisionlog.Event) error {
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
	var text strings.Builder
	for round := range 2 {
		for i := range names {
			fmt.Fprintf(&text, `{"decision_id":"%d","labels":{},"path":"a","metrics":{"timer_t%d_ns":%d,"counter_c%d":%d,"timer_rego_query_eval_ns":7}}`+"\n",
				round, i, 1000+i, i, 1000+i)
		}
	}
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	decisions := 0
	_, err := report.Read(t.Context(), report.Options{
		Inputs: []string{file}, Workers: 1,
		Each: func(key func(int32) string) func(*decisionlog.Event) error {
			return func(e *decisionlog.Event) error {
				decisions++
				got := map[string]int64{}
				for _, m := range e.Measures {
					got[key(m.Metric)] = m.Value
				}
				i := e.Measures[0].Value - 1000
				want := map[string]int64{fmt.Sprintf("timer_t%d_ns", i): 1000 + i, fmt.Sprintf("counter_c%d", i): 1000 + i, "timer_rego_query_eval_ns": 7}
				if !maps.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				return nil
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if decisions != 2*names {
		t.Errorf("%d decisions", decisions)
	}
}
