// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bytes"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// TestLint runs what testutil.GatherAndLint and `promtool check metrics` run,
// the latter on a text scrape.
func TestLint(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 100)
	registry := newRegistry(t, r, prom.Options{})
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	more, err := promlint.New(bytes.NewReader(encode(t, registry, text))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(problems, more...) {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for name, f := range gather(t, registry) {
		if n := len(f.GetHelp()); n < 20 || n > 1000 { // stores cut at 1,024 bytes
			t.Errorf("%s: help %q", name, f.GetHelp())
		}
	}
}
