// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/report/samplelog"
	"github.com/regometer/regometer/rollup"
)

// sampleFile writes a log of so many decisions, and returns its name.
func sampleFile(t *testing.T, decisions int64) string {
	t.Helper()
	var b strings.Builder
	if _, err := samplelog.Write(&b, samplelog.Options{Decisions: decisions, Paths: 20}); err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(t.TempDir(), "log"), b.String())
}

// Each duration is kept once, also where keys have no group of their own.
func TestExactOther(t *testing.T) {
	t.Parallel()
	x, err := ReadRollup(t.Context(), Options{
		Inputs: []string{sampleFile(t, 2000)}, Exact: true, Workers: 3, Limits: rollup.GroupLimits{Groups: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := x.Report()
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

func TestExactTooMany(t *testing.T) {
	file := sampleFile(t, 2000)
	before := maxExact
	defer func() { maxExact = before }()
	maxExact = 1000
	if _, err := Read(t.Context(), Options{Inputs: []string{file}, Exact: true}); !errors.Is(err, errTooManyExact) {
		t.Errorf("got error %v", err)
	}
	if _, err := Read(t.Context(), Options{Inputs: []string{file}}); err != nil {
		t.Errorf("without: %v", err)
	}
}
