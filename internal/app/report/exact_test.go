// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
	"github.com/regometer/regometer/internal/groupby"
)

// sampleText returns a log with this number of decisions.
func sampleText(t *testing.T, decisions int64) string {
	t.Helper()
	var b strings.Builder
	if _, err := samplelog.Write(&b, samplelog.Options{Decisions: decisions, Paths: 20}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each duration is kept once, also where keys have no group of their own.
func TestExactOther(t *testing.T) {
	t.Parallel()
	r := readLog(t, sampleText(t, 2000), Options{Exact: true, Workers: 3, Limits: groupby.Limits{Groups: 4}}).Report()
	if r.Groups.Len() != 5 {
		t.Fatalf("%d groups", r.Groups.Len())
	}
	for i := range r.Groups.Len() {
		g := r.Groups.At(i)
		for _, s := range g.Stages {
			if got, want := len(g.exact[s.Name]), s.Durations.Count(); uint64(got) != want {
				t.Errorf("%s, %s: %d durations, want %d", g.Key, s.Name, got, want)
			}
		}
	}
}

// Each group has its own durations, however many groups there are.
func TestExactOfManyGroups(t *testing.T) {
	t.Parallel()
	const groups = 100
	var b strings.Builder
	for i := range groups {
		fmt.Fprintf(&b, `{"decision_id":"a","path":"p%d","metrics":{"timer_rego_query_eval_ns":%d}}`+"\n", i, 1+i)
		if i%3 == 0 { // which no group after it has
			fmt.Fprintf(&b, `{"decision_id":"a","path":"p%d","metrics":{}}`+"\n", i+groups)
		}
	}
	for _, g := range readLog(t, b.String(), Options{Exact: true}).Report().Groups.Sums() {
		var want map[string][]int64
		if len(g.Stages) > 0 {
			want = map[string][]int64{evaluationStage: {g.Stages[0].Durations.Max()}}
		}
		if !maps.EqualFunc(g.exact, want, slices.Equal) {
			t.Fatalf("%s: got %v, want %v", g.Key, g.exact, want)
		}
	}
}

// With a report that has no durations, quantiles are those of the histograms.
func TestExactMerged(t *testing.T) {
	t.Parallel()
	text := sampleText(t, 100)
	for _, exact := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
		x := readLog(t, text, Options{Exact: exact[0]})
		if err := x.Merge(readLog(t, text, Options{Exact: exact[1]})); err != nil {
			t.Fatal(err)
		}
		for _, g := range x.Report().Groups.Sums() {
			for _, s := range g.Stages {
				want := 0
				if exact[0] && exact[1] {
					want = int(s.Durations.Count())
				}
				if got := len(g.exact[s.Name]); got != want {
					t.Errorf("exact %v: %s of %s has %d durations, want %d", exact, s.Name, g.Key, got, want)
				}
			}
		}
	}
}

func TestExactTooMany(t *testing.T) {
	text := sampleText(t, 2000)
	file := write(t, filepath.Join(t.TempDir(), "log"), text)
	before := maxExact
	defer func() { maxExact = before }()
	maxExact = 1000
	if _, err := Read(t.Context(), Options{Inputs: []string{file}, Exact: true}); !errors.Is(err, errTooManyExact) {
		t.Errorf("got error %v", err)
	}
	readLog(t, text, Options{}) // without --exact there is no limit
}
