// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/regometer/regometer/internal/app/outfile"
)

// A part is a part of the page, which is measured as a whole.
type part struct {
	name   string
	lines  func(*measurer, context.Context) ([]byte, error) // in the format of go test -bench
	tables func(results) []table
	// steady names a benchmark of code that does not depend on Regometer: four
	// clock readings, a decision without metrics, a request to OPA as it is, a
	// loop over a map, DuckDB.
	steady key
}

var parts = []part{
	{"metrics", (*measurer).cases, packageTables, key{"Metrics/case=timer_restart/goroutines=1", "floor"}},
	{"embedded", (*measurer).embedded, embeddedTables, key{"Decision/case=noop", "opa"}},
	{"server", (*measurer).server, serverTables, key{"Server/case=plain", "unmodified"}},
	{"stages", (*measurer).stages, stageTables, key{"Add/form=map/goroutines=1", "map"}},
	{"report", (*measurer).decisionLogs, logTables, key{"Report/case=ndjson", "duckdb_one"}},
	{"collect", (*measurer).collect, collectTables, key{"Server/case=plain", "unmodified"}},
}

// A report has the results of the parts, by name.
type report map[string]results

// A section is the text of the page about a part.
type section struct {
	Name, Tables string
	Config       map[string]string
	Varied       string // the factor by which the time of the same code varied, if it is large
	Clients      int    // of the servers
}

// sections returns the sections of the parts that were measured.
func (r report) sections() (sections []section) {
	for _, p := range parts {
		results := r[p.name]
		if len(results.samples) == 0 {
			continue
		}
		s := section{Name: p.name, Config: results.config, Clients: connections}
		for _, t := range p.tables(results) {
			s.Tables += t.String()
		}
		const much = 1.5
		times := results.values(p.steady.name, p.steady.impl, nanoseconds)
		if len(times) > 0 && slices.Max(times) > much*slices.Min(times) {
			s.Varied = number(slices.Max(times) / slices.Min(times))
		}
		sections = append(sections, s)
	}
	return sections
}

// text returns the tables of all parts that were measured.
func (r report) text() (text string) {
	for _, s := range r.sections() {
		text += s.Tables
	}
	return text
}

//go:embed page.md
var pageTemplate string

// page returns the text of docs/performance.md.
func (r report) page() (string, error) {
	page, err := template.New("page.md").Parse(pageTemplate)
	if err != nil {
		return "", err
	}
	sections := r.sections()
	byName := map[string]section{}
	for _, s := range sections {
		byName[s.Name] = s
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Sections": sections, "Of": byName})
	return b.String(), err
}

// save writes the page and the raw figures.
func (r report) save(out string) error {
	page, err := r.page()
	if err != nil {
		return err
	}
	files := map[string][]byte{"performance.md": []byte(page)}
	for part, results := range r {
		files[filepath.Join("performance", part+".txt")] = results.raw
	}
	if err := os.MkdirAll(filepath.Join(out, "performance"), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := outfile.Write(filepath.Join(out, name), text); err != nil {
			return err
		}
	}
	return nil
}
