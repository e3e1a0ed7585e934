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
		t.Error("the table in README.md differs from docs/performance.md: run go run ./bench/project/readme")
	}
}

func TestShortTable(t *testing.T) {
	const page = `# Performance

### Cases with a target

| case | OPA | Regometer | time | bytes | to floor | target, at most | |
|---|---|---|---|---|---|---|---|
| A request: New, 4 timers, 1 counter; 1 goroutine | 1 µs, 9 B, 9 | 2 ns, 0 B, 0 | 0.20 (0.1–0.3) | 0 | 1 | time 0.3 | met |
| another | 1 µs, 9 B, 9 | 2 ns, 0 B, 0 | 0.2 | 0 | 1 |  |  |

### The server under load: ´POST /v1/data/rbac/allow´

| | allocations | bytes | processor time | time until the next answer | target | |
|---|---|---|---|---|---|---|
| unmodified OPA, nothing on | 223 | 15.9 KB | 157 µs | 227 µs |  |  |
| with the drop-in, nothing on | 213; 0.96 (0.95–0.96) | 15.2 KB; 0.95 (0.95–0.95) | 130 µs; 0.84 (0.68–1.34) | 196 µs; 0.90 (0.61–1.49) |  |  |

### The server under load: ´POST /v1/data/rbac/allow?instrument=true´

| | allocations | bytes | processor time | time until the next answer | target | |
|---|---|---|---|---|---|---|
| unmodified OPA, nothing on | 440 | 84.2 KB | 314 µs | 379 µs |  |  |
| with the drop-in, nothing on | 365; 0.83 | 28.5 KB; 0.34 | 216 µs; 0.74 | 325 µs; 0.83 |  |  |
`
	const want = `| case | OPA: time, bytes, allocs | Regometer: time, bytes, allocs | time |
|---|---|---|---|
| A request: New, 4 timers, 1 counter; 1 goroutine | 1 µs, 9 B, 9 | 2 ns, 0 B, 0 | 0.20 (0.1–0.3) |
| An OPA server: ´POST /v1/data/rbac/allow´ | 227 µs, 15.9 KB, 223 | 196 µs, 15.2 KB, 213 | 0.90 (0.61–1.49) |
`
	quoted := strings.ReplaceAll(page, "´", "`")
	if got, err := shortTable(quoted); err != nil || got != strings.ReplaceAll(want, "´", "`") {
		t.Errorf("shortTable = %v\n%s\nwant\n%s", err, got, want)
	}
	for _, gone := range []string{"| A request", "| unmodified OPA, nothing on | 223", serverHeading} {
		if _, err := shortTable(strings.ReplaceAll(quoted, gone, "| else")); err == nil {
			t.Errorf("no error for a page without %q", gone)
		}
	}
}
