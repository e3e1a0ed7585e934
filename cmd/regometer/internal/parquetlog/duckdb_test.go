// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
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
	log := sample(t, sampleOptions)
	text, rep := write(t, report.Options{Inputs: []string{log}, Workers: 2}, 5000)
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

	groups := groupsOf(t, rep)
	checked := 0
	for stage := range stageColumns {
		stage := strings.TrimSuffix(strings.TrimPrefix(stage, "timer_"), "_ns")
		for _, r := range query(from(strings.ReplaceAll(`
			SELECT path,
				count(*) FILTER (s > 0) AS count, count(*) FILTER (s = 0) AS unfinished,
				coalesce(sum(s) FILTER (s > 0), 0)::BIGINT AS sum_ns,
				coalesce(min(s) FILTER (s > 0), 0) AS min_ns, coalesce(max(s), 0) AS max_ns,
				coalesce(quantile_disc(s, 0.5) FILTER (s > 0), 0) AS p50_ns,
				coalesce(quantile_disc(s, 0.99) FILTER (s > 0), 0) AS p99_ns
			FROM (SELECT path, `+stage+`_ns AS s FROM FILE) WHERE s IS NOT NULL GROUP BY path`, "\n\t\t\t", "\n"))) {
			checked++
			path := fmt.Sprint(r["path"])
			for name, v := range r {
				if name == "path" {
					continue
				}
				got, want, bound := number(v), groups[path].Stages[stage][name], 0.0
				if strings.HasPrefix(name, "p") {
					bound = 0.011 // of the report's histograms
				}
				if math.Abs(float64(got-want)) > bound*float64(want)+math.Ceil(bound) {
					t.Errorf("%s of %s: %s is %d, want %d", stage, path, name, got, want)
				}
			}
		}
	}
	want := 0
	for _, g := range groups {
		for stage := range g.Stages {
			if _, ok := stageColumns["timer_"+stage+"_ns"]; ok {
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
	if number(r["first"]) != rep.From/1000 || number(r["last"]) != rep.To/1000 {
		t.Errorf("from %v to %v, want %v to %v", r["first"], r["last"], rep.From/1000, rep.To/1000)
	}
}

// A group is what a report says about a path.
type group struct {
	Path     string
	Outcomes map[string]int64
	Counters map[string]int64
	Stages   map[string]map[string]int64
}

func groupsOf(t *testing.T, r *report.Report) map[string]group {
	var b bytes.Buffer
	var parsed struct{ Groups []group }
	if err := errors.Join(r.WriteJSON(&b), json.Unmarshal(b.Bytes(), &parsed)); err != nil {
		t.Fatal(err)
	}
	groups := map[string]group{}
	for _, g := range parsed.Groups {
		groups[g.Path] = g
	}
	return groups
}
