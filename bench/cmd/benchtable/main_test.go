// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// TestPages: the page in docs, and the table in README.md, follow from the
// figures in docs/performance.
func TestPages(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	performance, readme, err := pages(t.Context(), folder+"/"+root)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"docs/performance.md": performance, "README.md": readme} {
		if want, err := os.ReadFile(root + "/" + name); err != nil || got != string(want) {
			t.Errorf("%s is outdated: run go run ./bench/cmd/benchtable -page (%v)", name, err)
		}
	}
}

// Losses are bold, and differences that may be chance have a mark.
func TestRow(t *testing.T) {
	t.Parallel()
	sides, err := parse(`,opa,,regometer,,,
,sec/op,CI,sec/op,CI,vs base,P
A-2,1e-06,2%,1.5e-06,3%,+50.00%,p=0.000 n=10
B-2,1e-06,2%,9e-07,3%,~,p=0.100 n=10
C-2,1e-06,2%
geomean,1e-06,,1e-06,,-5.00%,

,opa,,regometer,,,
,B/op,CI,B/op,CI,vs base,P
A-2,2000,0%,10,0%,-99.50%,p=0.000 n=10
B-2,0,0%,0,0%,~,p=1.000 n=10

,opa,,regometer,,,
,allocs/op,CI,allocs/op,CI,vs base,P
A-2,12,0%,1,0%,-91.67%,p=0.000 n=10
B-2,0,0%,0,0%,~,p=1.000 n=10
`)
	if err != nil {
		t.Fatal(err)
	}
	p := page{comparisons: map[string]figures{"sides": sides}}
	for name, want := range map[string]string{
		"A": "| A | 1 µs ± 2 %, 2 KB, 12 | 1.5 µs ± 3 %, 10 B, 1 | **1.50 slower** | 0.005 |",
		"B": "| B | 1 µs ± 2 %, 0 B, 0 | 900 ns ± 3 %, 0 B, 0 | 0.90 ~ | – |",
	} {
		if got := p.Row("sides", seconds, name, name); got != want || p.missing != nil {
			t.Errorf("got %s, %v, want %s", got, p.missing, want)
		}
	}
	if p.Row("sides", seconds, "C", "C"); p.missing == nil || !strings.Contains(p.missing.Error(), "no sec/op of C, regometer") {
		t.Errorf("a row without figures gives %v", p.missing)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"metrics":          `unexpected argument "metrics"`,
		"-go go1.27.4":     "-go takes two releases",
		"-bench (":         "missing closing )",
		"-quick -nonsense": "flag provided but not defined",
	} {
		if _, err := parseFlags(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", args, err, want)
		}
	}
}
