// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
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
