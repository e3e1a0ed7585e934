// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
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

// Marks around the table in README.md.
const (
	readmeStart = "<!-- measured: two cases; written by make bench -->\n"
	readmeEnd   = "<!-- measured: end -->\n"
)

// save writes the page, the raw figures and the table in README.md below root.
func (r report) save(root string) error {
	page, err := r.page()
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(readme), readmeStart)
	_, after, ended := strings.Cut(rest, readmeEnd)
	if !found || !ended {
		return errors.New("README.md lacks the lines around its table")
	}
	files := map[string]string{
		"docs/performance.md": page,
		"README.md":           before + readmeStart + r.readmeTable() + readmeEnd + after,
	}
	for part, results := range r {
		files["docs/performance/"+part+".txt"] = string(results.raw)
	}
	if err := os.MkdirAll(filepath.Join(root, "docs", "performance"), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := outfile.Write(filepath.Join(root, filepath.FromSlash(name)), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
