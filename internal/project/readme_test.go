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
		t.Error("a table in README.md is not that of docs/performance.md; run: go run ./internal/project/readme")
	}
}

func TestShortTable(t *testing.T) {
	const page = `# Performance

| figures | date | machine | system | Go | OPA | command |
|---|---|---|---|---|---|---|
| metrics | 2026-01-02 | A CPU, 2 CPUs | linux/amd64 | go1.26.8 | v1.2.3 | x |
| server | 2026-01-03 | B CPU, 2 CPUs | linux/amd64 | go1.26.8 | v1.2.3 | x |

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

Measured beside OPA v1.2.3 on 2026-01-02, A CPU, 2 CPUs, linux/amd64, go1.26.8; the server beside OPA v1.2.3 on 2026-01-03, B CPU, 2 CPUs, linux/amd64, go1.26.8.
`
	cases := []string{requestRow, serverRow}
	quoted := strings.ReplaceAll(page, "´", "`")
	if got, err := shortTable(quoted, cases); err != nil || got != strings.ReplaceAll(want, "´", "`") {
		t.Errorf("shortTable = %v\n%s\nwant\n%s", err, got, want)
	}
	for _, gone := range []string{"| A request", "| unmodified OPA, nothing on | 223", "| metrics", "| server", serverHeading} {
		if _, err := shortTable(strings.ReplaceAll(quoted, gone, "| else"), cases); err == nil {
			t.Errorf("no error for a page without %q", gone)
		}
	}
}

func TestLogTable(t *testing.T) {
	const page = `# Performance

| figures | date | machine | system | Go | OPA | command |
|---|---|---|---|---|---|---|
| report | 2026-01-02 | A CPU, 2 CPUs | linux/amd64 | go1.26.8 | v1.2.3 | x |

### Throughput

| a log of | DuckDB, 1 thread | DuckDB | jq, two fields | encoding/json | regometer, portable | regometer, 1 worker | regometer | by DuckDB's |
|---|---|---|---|---|---|---|---|---|
| 0.5 KB a decision | 1 MB/s | 2 MB/s | 3 MB/s | 4 MB/s | 17 MB/s | 5 MB/s | 6 MB/s | 3.00 (2.9–3.1) |
| 8 KB a decision | 7 MB/s | 8 MB/s | 9 MB/s | 10 MB/s | 18 MB/s | 11 MB/s | 12 MB/s | 1.50 |
| docker | 13 MB/s | 14 MB/s | – | – | – | – | 16 MB/s | 1.1 |

### Compressed logs
`
	const want = `| a log of | DuckDB | jq, two fields | encoding/json | regometer, portable | regometer | by DuckDB's |
|---|---|---|---|---|---|---|
| 0.5 KB a decision | 2 MB/s | 3 MB/s | 4 MB/s | 17 MB/s | 6 MB/s | 3.00 (2.9–3.1) |
| 8 KB a decision | 8 MB/s | 9 MB/s | 10 MB/s | 18 MB/s | 12 MB/s | 1.50 |

Measured on 2026-01-02, A CPU, 2 CPUs, linux/amd64, go1.26.8.
`
	got, err := logTable(page)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, gone := range []string{"| report |", logHeading, "| DuckDB |", "| 12 MB/s |", "| 8 KB a decision |"} {
		if _, err := logTable(strings.ReplaceAll(page, gone, "|")); err == nil {
			t.Errorf("no error for a page without %q", gone)
		}
	}
}
