// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

const resultsFolder = "docs/performance"

// The files of figures. Those of both sides have the same benchmarks, and are
// named like the columns. In peers.txt, the columns are implementations.
const (
	opaFile, oursFile           = "opa.txt", "regometer.txt"
	olderOPAFile, olderOursFile = "opa-older-go.txt", "regometer-older-go.txt"
	peersFile                   = "peers.txt"
)

// The units of package benchfmt.
const (
	seconds     = "sec/op"
	bytes       = "B/op"
	allocations = "allocs/op"
	processor   = "cpu-sec/op"
)

// A cell is where a figure is in the tables.
type cell struct{ column, benchmark, unit string }

// A page writes the rows of tables.
type page struct {
	values  map[cell][]float64 // one of each run
	missing error
}

// read adds the figures of a file, and returns its configuration, such as the
// processor.
func (p *page) read(name string) (config map[string]string, err error) {
	files, config := benchfmt.Files{Paths: []string{name}}, map[string]string{}
	for files.Scan() {
		switch r := files.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, r
		case *benchfmt.Result:
			benchmark, parts := r.Name.Parts()
			column := strings.TrimSuffix(filepath.Base(name), ".txt")
			for _, part := range parts {
				if implementation, is := strings.CutPrefix(string(part), "/impl="); is {
					column = implementation
				} else if part[0] == '/' { // or else it is the number of processors
					benchmark = append(benchmark[:len(benchmark):len(benchmark)], part...)
				}
			}
			for _, v := range r.Values {
				at := cell{column, string(benchmark), v.Unit}
				p.values[at] = append(p.values[at], v.Value)
			}
			for _, c := range r.Config {
				config[c.Key] = string(c.Value)
			}
		}
	}
	return config, files.Err()
}

func (p *page) sample(at cell) *benchmath.Sample {
	values := p.values[at]
	if len(values) == 0 {
		p.missing = errors.Join(p.missing, fmt.Errorf("there is no %s of %s, %s", at.unit, at.benchmark, at.column))
		values = []float64{0}
	}
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}

func (p *page) summary(at cell) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(p.sample(at), 0.95)
}

// value writes a median with three digits.
func (p *page) value(benchmark, column, unit string) string {
	return show(p.summary(cell{column, benchmark, unit}).Center, unit)
}

func show(value float64, unit string) string {
	if unit == allocations {
		return fmt.Sprintf("%.0f", value)
	}
	switch name, _, _ := strings.Cut(unit, "/"); {
	case strings.HasSuffix(name, "sec"):
		unit = "s"
	case unit != "B/s":
		unit = "B"
	}
	for _, prefix := range []struct {
		factor float64
		name   string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "K"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {0, "n"}} {
		if value >= 0.9995*prefix.factor && value > 0 {
			return fmt.Sprintf("%.3g %s%s", value/max(prefix.factor, 1e-9), prefix.name, unit)
		}
	}
	return "0 " + unit
}

// ratio writes our figure divided by OPA's. A loss is bold, and a difference
// that may be chance has a mark.
func (p *page) ratio(theirs, ours cell, loss string) string {
	a, b := p.sample(theirs), p.sample(ours)
	before, after := p.summary(theirs).Center, p.summary(ours).Center
	if before == 0 && after == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.2f", after/before)
	if after < 0.1*before {
		text = fmt.Sprintf("%.3f", after/before)
	}
	c := benchmath.AssumeNothing.Compare(a, b)
	switch {
	case c.P > c.Alpha && before != after:
		return text + " ~"
	case after > before:
		return "**" + text + " " + loss + "**"
	}
	return text
}

// row returns a function that writes a row with the time, bytes and allocations
// of two columns. unit is the time's.
func (p *page) row(opa, ours, unit string) func(benchmark, title string) string {
	return func(benchmark, title string) string {
		side := func(column string) string {
			interval := strings.Replace(p.summary(cell{column, benchmark, unit}).PctRangeString(), "%", " %", 1)
			return fmt.Sprintf("%s ± %s, %s, %s", p.value(benchmark, column, unit), interval,
				p.value(benchmark, column, bytes), p.value(benchmark, column, allocations))
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %s |", title, side(opa), side(ours),
			p.ratio(cell{opa, benchmark, unit}, cell{ours, benchmark, unit}, "slower"),
			p.ratio(cell{opa, benchmark, bytes}, cell{ours, benchmark, bytes}, "more"))
	}
}

// server writes a row of the servers' table.
func (p *page) server(benchmark, title string) string {
	row := "| " + title + " |"
	for _, unit := range []string{allocations, bytes, processor} {
		row += fmt.Sprintf(" %s → %s, %s |", p.value(benchmark, "opa", unit), p.value(benchmark, "regometer", unit),
			p.ratio(cell{"opa", benchmark, unit}, cell{"regometer", benchmark, unit}, "more"))
	}
	return row
}

// added writes what a benchmark of ours has more than another one.
func (p *page) added(benchmark, than, unit string) string {
	return show(p.summary(cell{"regometer", benchmark, unit}).Center-p.summary(cell{"regometer", than, unit}).Center, unit)
}

// peers writes a row with the figures of implementations. Those of others may
// be missing: there may be no DuckDB.
func (p *page) peers(benchmark, unit, title string, implementations ...string) string {
	row := "| " + title + " |"
	for _, name := range implementations {
		if len(p.values[cell{name, benchmark, unit}]) == 0 && name != "regometer" {
			row += " – |"
		} else {
			row += " " + p.value(benchmark, name, unit) + " |"
		}
	}
	return row
}

//go:embed page.md
var pageText string

// Marks around the table in README.md.
const (
	readmeStart = "<!-- measured: written by make bench -->\n"
	readmeEnd   = "<!-- measured: end -->\n"
)

// pages returns the texts of docs/performance.md and README.md by their names.
func pages(root string) (map[string]string, error) {
	p, config := &page{values: map[cell][]float64{}}, map[string]string{}
	for _, name := range []string{peersFile, olderOPAFile, olderOursFile, oursFile, opaFile} {
		of, err := p.read(filepath.Join(root, resultsFolder, name))
		if err != nil {
			return nil, err
		}
		maps.Copy(config, of)
	}
	config["runs"] = fmt.Sprint(len(p.values[cell{"opa", "MetricsMarshaling", seconds}]))
	t, err := template.New("").Funcs(template.FuncMap{
		"row": p.row("opa", "regometer", seconds), "old": p.row("opa-older-go", "regometer-older-go", seconds),
		"processor": p.row("opa", "regometer", processor), "server": p.server, "added": p.added, "peers": p.peers, "value": p.value,
	}).Parse(pageText)
	readme, readmeErr := os.ReadFile(filepath.Join(root, "README.md"))
	if err := errors.Join(err, readmeErr); err != nil {
		return nil, err
	}
	before, rest, found := strings.Cut(string(readme), readmeStart)
	_, after, ended := strings.Cut(rest, readmeEnd)
	if !found || !ended {
		return nil, errors.New("README.md lacks the lines around its table")
	}
	var text, table strings.Builder
	err = errors.Join(t.Execute(&text, config), t.ExecuteTemplate(&table, "readme", config), p.missing)
	return map[string]string{
		"docs/performance.md": strings.TrimLeft(text.String(), "\n"),
		"README.md":           before + readmeStart + table.String() + readmeEnd + after,
	}, err
}

func writePages(root string) error {
	texts, err := pages(root)
	for name, text := range texts {
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), []byte(text), 0o666)
		}
	}
	return err
}
