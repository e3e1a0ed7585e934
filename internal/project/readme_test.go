// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"strings"
	"testing"
)

func TestReadmeTable(t *testing.T) {
	old, updated, err := readme(root)
	if err != nil {
		t.Fatal(err)
	}
	if old != updated {
		t.Error("the table in README.md is not that of docs/performance.md; run: go run ./internal/project/readme")
	}
}

func TestShortTable(t *testing.T) {
	const page = `# Performance

| figures | date | machine | system | Go | OPA | command |
|---|---|---|---|---|---|---|
| metrics | 2026-01-02 | A CPU, 2 CPUs | linux/amd64 | go1.26.8 | v1.22.0 | x |

### Cases with a target

| case | OPA | Regometer | time | bytes | to floor | target, at most | |
|---|---|---|---|---|---|---|---|
| a request | 1 µs, 9 B, 9 | 2 ns, 0 B, 0 | 0.20 (0.1–0.3) | 0 | 1 | time 0.3 | met |

### Other cases

| case | OPA | Regometer | time | bytes | to floor |
|---|---|---|---|---|---|
| faster | 1 µs, 9 B, 9 | 2 ns, 0 B, 0 | 0.2 | 0 | 1 |
| slower | 1 µs, 9 B, 9 | 2 µs, 0 B, 0 | **2 slower** | 0 | 1 |

### A decision in a program that uses OPA as a library

| case | OPA | the drop-in | time | bytes | target, at most | |
|---|---|---|---|---|---|---|
| NoOp | 1 µs, 9 B, 9 | 1 µs, 9 B, 9 | 1 | 1 |  |  |
`
	const want = `| case | OPA 1.22.0: time, bytes, allocs | Regometer: time, bytes, allocs | time |
|---|---|---|---|
| a request | 1 µs, 9 B, 9 | 2 ns, 0 B, 0 | 0.20 (0.1–0.3) |
| slower | 1 µs, 9 B, 9 | 2 µs, 0 B, 0 | **2 slower** |
| NoOp | 1 µs, 9 B, 9 | 1 µs, 9 B, 9 | 1 |

Measured on 2026-01-02, A CPU, 2 CPUs, linux/amd64, go1.26.8.
`
	if got, err := shortTable(page); err != nil || got != want {
		t.Errorf("shortTable = %v\n%s\nwant\n%s", err, got, want)
	}
	for _, section := range sections {
		if _, err := shortTable(strings.ReplaceAll(page, section, "### Else")); err == nil {
			t.Errorf("no error for a page without %q", section)
		}
	}
}
