// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A table in README.md stands between a line that begins so, with its name and
// the target of the Makefile that writes it, and the line tableEnd.
const (
	tableBegin = "<!-- measured: %s; written by make %s from docs/performance.md -->\n"
	tableEnd   = "<!-- measured: end -->\n"
)

// The cases that README.md shows, as docs/performance.md calls them. The last
// is made of two rows of another table.
const (
	marshalRow      = "OPA's BenchmarkMetricsMarshaling: json.Marshal"
	timerRow        = "OPA's BenchmarkMetricsTimerStartStopRestart"
	requestRow      = "A request: New, 4 timers, 1 counter; 1 goroutine"
	instrumentedRow = "A request with 5 instrumented operations × 40, then All; 1 goroutine"
	serverRow       = "An OPA server: `POST /v1/data/rbac/allow`"
)

// readmeTables are the tables of README.md by their names, and what makes them
// of the text of the page.
var readmeTables = []struct {
	name, target string
	table        func(page string) (string, error)
}{
	{"a request", "bench", tableOf(requestRow)},
	{"five cases", "bench", tableOf(marshalRow, timerRow, requestRow, instrumentedRow, serverRow)},
	{"decision logs", "bench-report", logTable},
}

func tableOf(cases ...string) func(page string) (string, error) {
	return func(page string) (string, error) { return shortTable(page, cases) }
}

// UpdateReadme writes the tables in the README.md of the repository at root,
// from its docs/performance.md.
func UpdateReadme(root string) error {
	path := filepath.Join(root, "README.md")
	old, updated, err := readme(root)
	if err != nil || old == updated {
		return err
	}
	return os.WriteFile(path, []byte(updated), 0o666)
}

// readme returns the text of README.md as it is and as it is to be.
func readme(root string) (old, updated string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return "", "", err
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		return "", "", err
	}
	updated = string(text)
	for _, t := range readmeTables {
		table, err := t.table(string(page))
		if err != nil {
			return "", "", fmt.Errorf("docs/performance.md: %w", err)
		}
		begin := fmt.Sprintf(tableBegin, t.name, t.target)
		before, rest, begins := strings.Cut(updated, begin)
		_, after, ends := strings.Cut(rest, tableEnd)
		if !begins || !ends {
			return "", "", fmt.Errorf("README.md lacks the lines that the table of %s stands between:\n%s%s", t.name, begin, tableEnd)
		}
		updated = before + begin + table + tableEnd + after
	}
	return string(text), updated, nil
}

// The rows of the page that serverRow is made of, and the heading above them.
const (
	serverHeading    = "### The server under load: `POST /v1/data/rbac/allow`"
	serverUnmodified = "unmodified OPA, nothing on"
	serverDropIn     = "with the drop-in, nothing on"
)

// shortTable returns a table of these cases of the page, with the first four
// columns there: the case, OPA's figures, ours, the ratio of the times. Below
// it is what was measured, and on what.
func shortTable(page string, cases []string) (string, error) {
	found := map[string]string{}    // a case's row
	measured := map[string]string{} // by part: beside which OPA, when, on what
	var server [2][]string          // the server's two rows
	heading := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = line
		}
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 7 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch name := cells[1]; {
		case heading == serverHeading && name == serverUnmodified:
			server[0] = cells
		case heading == serverHeading && name == serverDropIn:
			server[1] = cells
		case name == "metrics" || name == "server": // date, machine, system, Go, OPA
			measured[name] = fmt.Sprintf("beside OPA %s on %s, %s, %s, %s", cells[6], cells[2], cells[3], cells[4], cells[5])
		default:
			found[name] = fmt.Sprintf("| %s | %s | %s | %s |\n", name, cells[2], cells[3], cells[4])
		}
	}
	if server[0] != nil && server[1] != nil {
		opa, _ := serverFigures(server[0])
		ours, ratio := serverFigures(server[1])
		found[serverRow] = fmt.Sprintf("| %s | %s | %s | %s |\n", serverRow, opa, ours, ratio)
	}

	var b strings.Builder
	b.WriteString("| case | OPA: time, bytes, allocs | Regometer: time, bytes, allocs | time |\n|---|---|---|---|\n")
	for _, c := range cases {
		if found[c] == "" {
			return "", fmt.Errorf("there is no row %q", c)
		}
		b.WriteString(found[c])
	}
	if measured["metrics"] == "" || measured["server"] == "" {
		return "", fmt.Errorf("the row of the figures %q or %q is missing", "metrics", "server")
	}
	if slices.Contains(cases, serverRow) {
		fmt.Fprintf(&b, "\nMeasured %s; the server %s.\n", measured["metrics"], measured["server"])
	}
	return b.String(), nil
}

// serverFigures returns a server's time, bytes and allocations, and the ratio
// of its time if it has one. In its row are allocations, bytes, processor time
// and time, each with its ratio behind a semicolon.
func serverFigures(cells []string) (figures, ratio string) {
	allocs, _, _ := strings.Cut(cells[2], ";")
	bytes, _, _ := strings.Cut(cells[3], ";")
	time, ratio, _ := strings.Cut(cells[5], "; ")
	return fmt.Sprintf("%s, %s, %s", time, bytes, allocs), ratio
}

// logHeading stands above the page's table of what reads decision logs, and
// logColumns are the columns of it that README.md has.
const logHeading = "### Throughput"

var logColumns = []string{"a log of", "DuckDB", "jq, two fields", "encoding/json", "regometer, portable", "regometer", "by DuckDB's"}

// logTable returns the first two rows of the page's table of what reads
// decision logs, with some of its columns. Below it is what was measured, and
// on what.
func logTable(page string) (string, error) {
	_, rest, _ := strings.Cut(page, "\n"+logHeading+"\n\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) < 4 {
		return "", fmt.Errorf("there is no table %q", logHeading)
	}
	titles := cellsOf(lines[0])
	var b strings.Builder
	for _, line := range lines[:4] {
		cells := cellsOf(line)
		var chosen []string
		for _, column := range logColumns {
			i := slices.Index(titles, column)
			if i < 0 || len(cells) != len(titles) {
				return "", fmt.Errorf("the table %q has no column %q in %q", logHeading, column, line)
			}
			chosen = append(chosen, cells[i])
		}
		b.WriteString(strings.ReplaceAll("| "+strings.Join(chosen, " | ")+" |\n", " --- ", "---"))
	}
	for line := range strings.Lines(page) {
		if cells := cellsOf(line); len(cells) == 7 && cells[0] == "report" { // date, machine, system, Go
			fmt.Fprintf(&b, "\nMeasured on %s, %s, %s, %s.\n", cells[1], cells[2], cells[3], cells[4])
			return b.String(), nil
		}
	}
	return "", fmt.Errorf("the row of the figures %q is missing", "report")
}

// cellsOf returns what is in the cells of a table's line.
func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
