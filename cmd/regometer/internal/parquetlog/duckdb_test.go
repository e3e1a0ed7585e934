// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

// duckdbVariable is the environment variable with the program. Without it, the
// program is looked up in PATH.
const duckdbVariable = "REGOMETER_DUCKDB"

// duckdb returns a function that asks DuckDB.
func duckdb(t *testing.T) func(query string) []map[string]any {
	t.Helper()
	program := os.Getenv(duckdbVariable)
	if program == "" {
		var err error
		if program, err = exec.LookPath("duckdb"); err != nil {
			t.Skipf("no DuckDB: set %s, put duckdb into PATH, or run make test-slow", duckdbVariable)
		}
	}
	version, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, version)
	}
	t.Logf("DuckDB %s", bytes.TrimSpace(version))
	return func(query string) (rows []map[string]any) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, "-json", "-c", query)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s\n%v\n%s", query, err, &stderr)
		}
		d := json.NewDecoder(&stdout)
		d.UseNumber()
		if err := d.Decode(&rows); err != nil {
			t.Fatalf("%s\n%v", query, err)
		}
		return rows
	}
}

// DuckDB finds in the file what the report says, and the exact quantiles.
func TestDuckDB(t *testing.T) {
	t.Parallel()
	query := duckdb(t)
	log, truth := sample(t, sampleOptions)
	text, rep := write(t, report.Options{Inputs: []string{log}, Workers: 2}, 5000, nil)
	file := filepath.Join(t.TempDir(), "decisions.parquet")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	from := func(text string) string { return strings.ReplaceAll(text, "FILE", "'"+file+"'") }
	number := func(v any) int64 {
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}

	if r := query(from("SELECT count(*) AS n FROM FILE")); number(r[0]["n"]) != int64(rep.Total.Decisions) {
		t.Errorf("%v rows, the report has %d decisions", r[0]["n"], rep.Total.Decisions)
	}

	groups := groupsOf(truth)
	checked := 0
	for stage := range theLayout.stages {
		stage := strings.TrimSuffix(strings.TrimPrefix(stage, "timer_"), "_ns")
		for _, r := range query(from(strings.ReplaceAll(`
			SELECT path,
				count(*) FILTER (s > 0) AS count, count(*) FILTER (s = 0) AS unfinished,
				coalesce(sum(s) FILTER (s > 0), 0)::BIGINT AS sum_ns,
				coalesce(min(s) FILTER (s > 0), 0) AS min_ns, coalesce(max(s), 0) AS max_ns,
				coalesce(quantile_disc(s, 0.5) FILTER (s > 0), 0) AS p50_ns,
				coalesce(quantile_disc(s, 0.9) FILTER (s > 0), 0) AS p90_ns,
				coalesce(quantile_disc(s, 0.95) FILTER (s > 0), 0) AS p95_ns,
				coalesce(quantile_disc(s, 0.99) FILTER (s > 0), 0) AS p99_ns,
				coalesce(quantile_disc(s, 0.999) FILTER (s > 0), 0) AS p999_ns
			FROM (SELECT path, `+stage+`_ns AS s FROM FILE) WHERE s IS NOT NULL GROUP BY path`, "\n\t\t\t", "\n"))) {
			checked++
			path := fmt.Sprint(r["path"])
			got := &samplelog.Stage{
				Count: number(r["count"]), Unfinished: number(r["unfinished"]),
				Sum: number(r["sum_ns"]), Min: number(r["min_ns"]), Max: number(r["max_ns"]),
				Quantiles: &samplelog.Quantiles{
					P50: number(r["p50_ns"]), P90: number(r["p90_ns"]), P95: number(r["p95_ns"]),
					P99: number(r["p99_ns"]), P999: number(r["p999_ns"]),
				},
			}
			if want := groups[path].Stages[stage]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %s: got\n%s\nwant\n%s", stage, path, asJSON(got), asJSON(want))
			}
		}
	}
	want := 0
	for _, g := range groups {
		for stage := range g.Stages {
			if _, ok := theLayout.stages["timer_"+stage+"_ns"]; ok {
				want++
			}
		}
	}
	if checked != want || want < 20 {
		t.Errorf("%d stages of paths, want %d", checked, want)
	}

	// All rows are counted above, so no outcome is missing.
	for _, r := range query(from("SELECT path, outcome, count(*) AS n FROM FILE GROUP BY ALL")) {
		path, outcome := fmt.Sprint(r["path"]), fmt.Sprint(r["outcome"])
		if got, want := number(r["n"]), groups[path].Outcomes[outcome]; got != want {
			t.Errorf("%s of %s: got %d, want %d", outcome, path, got, want)
		}
	}
	// Maps and times.
	hits := int64(0)
	for _, g := range groups {
		hits += g.Counters["server_query_cache_hit"]
	}
	r := query(from(`SELECT sum(counters['server_query_cache_hit'])::BIGINT AS hits, count(*) FILTER (labels['version'] = '1.22.0') AS versions, count(DISTINCT labels['id']) AS servers,
		count(DISTINCT revision) AS revisions, epoch_us(min(time)) AS first, epoch_us(max(time)) AS last,
		count(DISTINCT decision_id) AS ids, count(*) AS n FROM FILE`))[0]
	if got := number(r["hits"]); got != hits {
		t.Errorf("%d hits, want %d", got, hits)
	}
	if n := number(r["n"]); number(r["versions"]) != n || number(r["ids"]) != n || number(r["servers"]) != 3 || number(r["revisions"]) != 2 {
		t.Errorf("got %v", r)
	}
	if number(r["first"]) != truth.From.UnixMicro() || number(r["last"]) != truth.To.UnixMicro() {
		t.Errorf("from %v to %v, want %v to %v", r["first"], r["last"], truth.From.UnixMicro(), truth.To.UnixMicro())
	}
}

// groupsOf returns the truth about each path as far as rows tell it.
func groupsOf(truth *samplelog.Truth) map[string]samplelog.Group {
	groups := map[string]samplelog.Group{}
	for _, g := range truth.Groups {
		maps.DeleteFunc(g.Outcomes, func(_ string, n int64) bool { return n == 0 })
		for name, s := range g.Stages {
			s.Self = 0
			g.Stages[name] = s
		}
		groups[g.Path] = g
	}
	return groups
}

func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
