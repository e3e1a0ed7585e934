// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/regometer/regometer/bench/internal/measure"
)

const resultsFolder = "docs/performance"

// comparisons are the files that benchstat compares, and by what.
var comparisons = []struct {
	name, by string
	files    []string
}{
	{"sides", ".file", []string{"opa.txt", "regometer.txt"}},
	{"older", ".file", []string{"opa-older-go.txt", "regometer-older-go.txt"}},
	{"peers", "/impl", []string{"peers.txt"}},
}

// benchstat compares files in a folder. The files are the columns' names.
func benchstat(ctx context.Context, root, folder, format, by string, files []string) (string, error) {
	args := []string{"tool", "-C", filepath.Join(root, "bench"), "benchstat", "-format", format, "-table", "", "-row", ".fullname", "-col", by}
	for _, name := range files {
		side, _, _ := strings.Cut(strings.TrimSuffix(name, ".txt"), "-")
		args = append(args, side+"="+filepath.Join(folder, name))
	}
	return measure.Run(ctx, io.Discard, "", nil, "go", args...) // its warnings are of figures that are all equal
}

func printComparisons(ctx context.Context, root, folder string) error {
	for _, c := range comparisons {
		text, err := benchstat(ctx, root, folder, "text", c.by, c.files)
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return nil
}

// A figure is a median, its confidence interval in percent, and its difference
// from that of the first column.
type figure struct {
	median              float64
	interval, different string
}

// figures are those of a comparison, by benchmark, column and unit.
type figures map[[3]string]figure

var configuration = regexp.MustCompile(`(?m)^(\w+): (.*)$`)

var processors = regexp.MustCompile(`-\d+$`)

// parse reads benchstat's CSV: for each unit a row of columns, a row of what
// they contain, and a row for each benchmark.
func parse(text string) (figures, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	all := figures{}
	var columns, contents []string
	for i, row := range rows {
		switch {
		case row[0] != "":
			for j := 1; j+1 < min(len(row), len(contents)); j++ {
				if unit := contents[j]; strings.Contains(unit, "/") && row[j] != "" || unit == "max-B" {
					f := figure{interval: row[j+1]}
					if f.median, err = strconv.ParseFloat(row[j], 64); err != nil {
						return nil, err
					}
					if j+2 < min(len(row), len(contents)) && contents[j+2] == "vs base" {
						f.different = row[j+2]
					}
					all[[3]string{processors.ReplaceAllString(row[0], ""), columns[j], unit}] = f
				}
			}
		case i+1 < len(rows) && rows[i+1][0] == "":
			columns = row
		default:
			contents = row
		}
	}
	return all, err
}

// The units of benchstat.
const (
	seconds     = "sec/op"
	bytes       = "B/op"
	allocations = "allocs/op"
	processor   = "cpu-sec/op"
	throughput  = "B/s"
)

// show writes a figure with three digits.
func show(value float64, unit string) string {
	if unit == allocations {
		return fmt.Sprintf("%.0f", value)
	}
	switch name, _, _ := strings.Cut(unit, "/"); {
	case strings.HasSuffix(name, "sec"):
		unit = "s"
	case unit != throughput:
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

// A page writes the rows of tables.
type page struct {
	comparisons map[string]figures
	missing     error
}

func (p *page) figure(comparison, benchmark, column, unit string) figure {
	f, ok := p.comparisons[comparison][[3]string{benchmark, column, unit}]
	if !ok {
		p.missing = errors.Join(p.missing, fmt.Errorf("there is no %s of %s, %s, in %s", unit, benchmark, column, comparison))
	}
	return f
}

// ratio writes our figure divided by OPA's. A loss is bold.
func (p *page) ratio(comparison, benchmark, unit, loss string) string {
	theirs, ours := p.figure(comparison, benchmark, "opa", unit), p.figure(comparison, benchmark, "regometer", unit)
	text := fmt.Sprintf("%.2f", ours.median/theirs.median)
	switch {
	case theirs.median == 0 && ours.median == 0:
		return "–"
	case ours.median < 0.1*theirs.median:
		text = fmt.Sprintf("%.3f", ours.median/theirs.median)
	}
	switch {
	case ours.different == "~" && ours.median != theirs.median:
		return text + " ~"
	case strings.HasPrefix(ours.different, "+"):
		return "**" + text + " " + loss + "**"
	}
	return text
}

// Row writes a row with the time, bytes and allocations of both sides. unit is
// the time's.
func (p *page) Row(comparison, unit, benchmark, title string) string {
	cell := func(column string) string {
		time := p.figure(comparison, benchmark, column, unit)
		return fmt.Sprintf("%s ± %s, %s, %s", show(time.median, unit), strings.Replace(time.interval, "%", " %", 1),
			show(p.figure(comparison, benchmark, column, bytes).median, bytes), show(p.figure(comparison, benchmark, column, allocations).median, allocations))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", title, cell("opa"), cell("regometer"),
		p.ratio(comparison, benchmark, unit, "slower"), p.ratio(comparison, benchmark, bytes, "more"))
}

// Server writes a row of the servers' table.
func (p *page) Server(benchmark, title string) string {
	row := "| " + title + " |"
	for _, unit := range []string{allocations, bytes, processor} {
		row += fmt.Sprintf(" %s → %s, %s |", show(p.figure("sides", benchmark, "opa", unit).median, unit),
			show(p.figure("sides", benchmark, "regometer", unit).median, unit), p.ratio("sides", benchmark, unit, "more"))
	}
	return row
}

// Added writes what a benchmark of ours has more than another one.
func (p *page) Added(benchmark, than, unit string) string {
	return show(p.figure("sides", benchmark, "regometer", unit).median-p.figure("sides", than, "regometer", unit).median, unit)
}

// Peers writes a row with the figures of implementations. Those of others may
// be missing: there may be no DuckDB.
func (p *page) Peers(benchmark, unit, title string, implementations ...string) string {
	row := "| " + title + " |"
	for _, name := range implementations {
		if _, ok := p.comparisons["peers"][[3]string{benchmark, name, unit}]; !ok && name != "regometer" {
			row += " – |"
		} else {
			row += " " + show(p.figure("peers", benchmark, name, unit).median, unit) + " |"
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

// pages returns the texts of docs/performance.md and README.md.
func pages(ctx context.Context, root string) (performance, readme string, err error) {
	p := &page{comparisons: map[string]figures{}}
	for _, c := range comparisons {
		text, err := benchstat(ctx, root, filepath.Join(root, resultsFolder), "csv", c.by, c.files)
		if err == nil {
			p.comparisons[c.name], err = parse(text)
		}
		if err != nil {
			return "", "", err
		}
	}
	t, err := template.New("").Funcs(template.FuncMap{
		"row":       func(name, title string) string { return p.Row("sides", seconds, name, title) },
		"old":       func(name, title string) string { return p.Row("older", seconds, name, title) },
		"processor": func(name, title string) string { return p.Row("sides", processor, name, title) },
		"server":    p.Server, "added": p.Added, "peers": p.Peers,
		"value": func(name, column, unit string) string {
			return show(p.figure("peers", name, column, unit).median, unit)
		},
	}).Parse(pageText)
	if err != nil {
		return "", "", err
	}
	config := map[string]string{}
	text, err := os.ReadFile(filepath.Join(root, resultsFolder, comparisons[0].files[0]))
	old, readmeErr := os.ReadFile(filepath.Join(root, "README.md"))
	if err := errors.Join(err, readmeErr); err != nil {
		return "", "", err
	}
	for _, m := range configuration.FindAllSubmatch(text, -1) {
		config[string(m[1])] = string(m[2])
	}
	config["runs"] = strconv.Itoa(strings.Count(string(text), "\nBenchmarkMetricsMarshaling"))
	before, rest, found := strings.Cut(string(old), readmeStart)
	_, after, ended := strings.Cut(rest, readmeEnd)
	if !found || !ended {
		return "", "", errors.New("README.md lacks the lines around its table")
	}
	var b, table strings.Builder
	err = errors.Join(t.Execute(&b, config), t.ExecuteTemplate(&table, "readme", config), p.missing)
	return strings.TrimLeft(b.String(), "\n"), before + readmeStart + table.String() + readmeEnd + after, err
}

func writePages(ctx context.Context, root string) error {
	performance, readme, err := pages(ctx, root)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(root, "docs", "performance.md"), []byte(performance), 0o644),
		os.WriteFile(filepath.Join(root, "README.md"), []byte(readme), 0o644))
}
