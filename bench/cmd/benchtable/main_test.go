// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The root by a link in this module: see bench/project/rules_test.go.
const root = "../../testdata/root"

// TestPages: the page in docs, and the table in README.md, follow from the
// figures in docs/performance.
func TestPages(t *testing.T) {
	t.Parallel()
	texts, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range texts {
		if want, err := os.ReadFile(filepath.Join(root, name)); err != nil || got != string(want) {
			t.Errorf("%s is outdated: run go run ./bench/cmd/benchtable -page (%v)", name, err)
		}
	}
}

// Losses are bold, differences that may be chance have a mark, and a row without
// figures is an error.
func TestRow(t *testing.T) {
	t.Parallel()
	p := &page{values: map[cell][]float64{}}
	add := func(benchmark string, time, size, count []float64) {
		for i, column := range []string{"opa", "regometer"} {
			for unit, median := range map[string]float64{seconds: time[i], bytes: size[i], allocations: count[i]} {
				at := cell{column, benchmark, unit}
				for j := range 10 {
					p.values[at] = append(p.values[at], median*(1+0.001*float64(j-5)*float64(i)))
				}
			}
		}
	}
	add("A", []float64{1e-6, 1.5e-6}, []float64{2000, 10}, []float64{12, 1})
	add("B", []float64{2e-6, 2e-6}, []float64{0, 0}, []float64{0, 0})
	row := p.row("opa", "regometer", seconds)
	for name, want := range map[string]string{
		"A": "| A | 1 µs ± 0 %, 2 KB, 12 | 1.5 µs ± 0 %, 10 B, 1 | **1.50 slower** | 0.005 |",
		"B": "| B | 2 µs ± 0 %, 0 B, 0 | 2 µs ± 0 %, 0 B, 0 | 1.00 ~ | – |",
	} {
		if got := row(name, name); got != want || p.missing != nil {
			t.Errorf("got %s, %v, want %s", got, p.missing, want)
		}
	}
	if row("C", "C"); p.missing == nil || !strings.Contains(p.missing.Error(), "there is no sec/op of C, regometer") {
		t.Errorf("a row without figures gives %v", p.missing)
	}
}
