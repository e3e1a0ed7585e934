// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/outfile"
	"github.com/regometer/regometer/opa/opabuild"
)

// The files in the folder upstream beside the page, and one for each impl.
const (
	serverFile = "server.txt"
	linesFile  = "lines.txt"
)

//go:embed page.md
var pageText string

// A report writes docs/upstream.md from what is kept in docs/upstream, and from
// the steps.
type report struct {
	steps     []opabuild.Step
	lines     map[string][2]int // added and deleted by a step, by its impl
	figures   measure.Results   // of the benchmarks; none if they were not measured
	server    measure.Results   // likewise
	benchstat map[string]string // by impl: beside the step before
}

// loadReport reads what is kept in the folder dir.
func loadReport(dir string, steps []opabuild.Step) (*report, error) {
	r := &report{steps: steps, lines: map[string][2]int{}, benchstat: map[string]string{}}
	r.figures.Samples = map[measure.Key][]measure.Sample{}
	impls := []string{unmodified}
	for _, s := range steps {
		impls = append(impls, stepImpl(s))
	}
	for _, impl := range append(impls, dropIn) {
		f, err := parseFile(filepath.Join(dir, impl+".txt"), func(name string) (measure.Key, error) { return measure.Key{Name: name, Impl: impl}, nil })
		if err != nil {
			return nil, err
		}
		for k, samples := range f.Samples {
			r.figures.Samples[k] = samples
		}
		if impl == unmodified {
			r.figures.Config = f.Config
		}
	}
	var err error
	r.server, err = parseFile(filepath.Join(dir, serverFile), func(name string) (measure.Key, error) {
		name, impl, ok := strings.Cut(name, "/impl=")
		if !ok {
			return measure.Key{}, fmt.Errorf("benchmark without impl=: %q", name)
		}
		return measure.Key{Name: name, Impl: impl}, nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		text, err := readIfThere(filepath.Join(dir, stepImpl(s)+".benchstat"))
		if err != nil {
			return nil, err
		}
		r.benchstat[stepImpl(s)] = text
	}
	text, err := readIfThere(filepath.Join(dir, linesFile))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		var impl string
		var n [2]int
		if _, err := fmt.Sscan(line, &n[0], &n[1], &impl); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", linesFile, line, err)
		}
		r.lines[impl] = n
	}
	return r, nil
}

func parseFile(name string, keyOf func(string) (measure.Key, error)) (measure.Results, error) {
	text, err := readIfThere(name)
	if err != nil {
		return measure.Results{}, err
	}
	r, err := measure.Parse([]byte(text), keyOf)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return r, err
}

func readIfThere(name string) (string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// page returns the text of docs/upstream.md.
func (r *report) page() (string, error) {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]string{
		"Version": opabuild.UpstreamVersion, "Order": r.order(), "Steps": r.stepTexts(), "Figures": r.header(),
		"Gains": r.gains(), "Whole": r.whole(), "Rows": r.rows(), "Server": r.serverTable(), "Eval": r.evalTable(),
	})
	return b.String(), err
}

// measured reports whether the benchmarks' figures are there.
func (r *report) measured() bool {
	for _, impl := range []string{unmodified, series(r.steps), dropIn} {
		if !r.figures.Has(metric(stepCases[0]), impl) {
			return false
		}
	}
	return true
}

const notMeasured = "Not measured yet: `make upstream`.\n"

// metric returns the benchmark's name of a case with one goroutine.
func metric(name string) string { return "Metrics/case=" + name + "/goroutines=1" }

// order is the table of the steps.
func (r *report) order() string {
	var b strings.Builder
	b.WriteString("| step | changed lines, without tests |\n|---|---|\n")
	sum := 0
	for _, s := range r.steps {
		n := r.lines[stepImpl(s)]
		if s.Name != hookStep {
			sum += n[0] + n[1]
		}
		fmt.Fprintf(&b, "| %d. [%s](#%s) | %d (%d added, %d deleted) |\n", s.Number, s.Title, anchor(heading(s)), n[0]+n[1], n[0], n[1])
	}
	fmt.Fprintf(&b, "| all, without the decision hook; at most %d | %d |\n", maxLines, sum)
	return b.String()
}

func heading(s opabuild.Step) string { return fmt.Sprintf("Step %d: %s", s.Number, s.Title) }

// anchor returns what GitHub makes of a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(heading) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		}
	}
	return b.String()
}

// stepTexts are the steps' own words, each with its table.
func (r *report) stepTexts() string {
	var b strings.Builder
	for _, s := range r.steps {
		impl := stepImpl(s)
		n := r.lines[impl]
		fmt.Fprintf(&b, "### %s\n\n%s\n\nChanged lines without tests: %d added, %d deleted.\n", heading(s), s.Body, n[0], n[1])
		if text := r.benchstat[impl]; text != "" {
			fmt.Fprintf(&b, "\nBeside the step before; [beside the unmodified OPA](upstream/%s.all.benchstat):\n\n```\n%s\n```\n", impl, strings.TrimSpace(text))
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String()) + "\n"
}

func (r *report) header() string {
	if !r.measured() {
		return notMeasured
	}
	var b strings.Builder
	b.WriteString("| figures | date | machine | system | Go | OPA | command, in folder `bench` |\n|---|---|---|---|---|---|---|\n")
	for _, part := range []struct {
		name   string
		config map[string]string
	}{{"benchmarks", r.figures.Config}, {"server", r.server.Config}} {
		if c := part.config; len(c) > 0 {
			fmt.Fprintf(&b, "| %s | %s | %s, %s CPUs | %s/%s | %s | %s | `%s` |\n",
				part.name, c["date"], c["cpu"], c["cpus"], c["goos"], c["goarch"], c["go"], c["opa"], c["command"])
		}
	}
	return b.String()
}

// gains is what each step takes of the time and the bytes of the one before.
func (r *report) gains() string {
	if !r.measured() {
		return notMeasured
	}
	var b strings.Builder
	b.WriteString("| case |")
	for _, s := range r.steps {
		fmt.Fprintf(&b, " %d |", s.Number)
	}
	b.WriteString(" all |\n|---" + strings.Repeat("|---", len(r.steps)+1) + "|\n")
	for _, c := range stepCases {
		name := metric(c)
		fmt.Fprintf(&b, "| %s |", c)
		before := unmodified
		for _, s := range r.steps {
			fmt.Fprintf(&b, " %s |", r.change(name, stepImpl(s), before))
			before = stepImpl(s)
		}
		fmt.Fprintf(&b, " %s |\n", r.change(name, before, unmodified))
	}
	return b.String()
}

// change is the ratio of time and of bytes, where they differ beyond noise, or
// where too few runs do not tell.
func (r *report) change(name, impl, before string) string {
	text := func(unit string) string {
		s := r.figures.Ratio(name, impl, before, unit)
		switch {
		case s.Median == 0 || s.Low <= 1 && s.High >= 1 && !math.IsInf(s.High, 1) || measure.Number(s.Median) == measure.Number(1):
			return "·"
		case s.IsLoss():
			return "**" + measure.Number(s.Median) + "**"
		}
		return measure.Number(s.Median)
	}
	return text(measure.Nanoseconds) + " " + text(measure.Bytes)
}

// leastShare is what the series is to have of the drop-in's gain, at least.
const leastShare = 2. / 3

// A quantity is what a share is of.
type quantity struct {
	title, unit string
	text        func(float64) string
}

var (
	passedTime    = quantity{"time", measure.Nanoseconds, measure.Duration}
	processorTime = quantity{"processor time", measure.CPUTime, measure.Duration}
	memory        = quantity{"bytes", measure.Bytes, measure.Size}
)

// share returns how much of the drop-in's gain the series has. ok is false if
// the drop-in gains nothing beyond noise.
func share(r measure.Results, name, seriesImpl string, q quantity) (share float64, ok bool) {
	if s := r.Ratio(name, dropIn, unmodified, q.unit); s.Median == 0 && r.Median(name, unmodified, q.unit) == 0 ||
		s.High >= 1 && !math.IsInf(s.High, 1) || s.Median > .98 {
		return 0, false
	}
	opa := r.Median(name, unmodified, q.unit)
	return (opa - r.Median(name, seriesImpl, q.unit)) / (opa - r.Median(name, dropIn, q.unit)), true
}

// shares writes the share of each quantity, and whether those that have a
// target reach it.
func shares(r measure.Results, name, seriesImpl string, quantities, targets []quantity) string {
	var b strings.Builder
	var missed []string
	judged := false
	for _, q := range quantities {
		got, ok := share(r, name, seriesImpl, q)
		if !ok {
			b.WriteString(" – |")
			continue
		}
		fmt.Fprintf(&b, " %.0f %% |", 100*got)
		if slices.ContainsFunc(targets, func(t quantity) bool { return t.unit == q.unit }) {
			judged = true
			if got < leastShare {
				missed = append(missed, q.title)
			}
		}
	}
	switch {
	case len(targets) == 0:
		b.WriteString("  |")
	case !judged:
		b.WriteString(" nothing to share |")
	case len(missed) == 0:
		b.WriteString(" met |")
	default:
		fmt.Fprintf(&b, " **missed**: %s |", strings.Join(missed, ", "))
	}
	return b.String()
}

// title returns what a row of the catalogue is called.
func title(name string) string {
	i := slices.IndexFunc(bench.Rows, func(r bench.Row) bool { return r.Name == name })
	return bench.Rows[i].Title
}

// whole is the table of the series beside the unmodified OPA and the drop-in.
func (r *report) whole() string {
	if !r.measured() {
		return notMeasured
	}
	var b strings.Builder
	b.WriteString("| case | OPA | series | drop-in | time, series | time, drop-in | share of time | share of bytes | |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	impl := series(r.steps)
	quantities := []quantity{passedTime, memory}
	row := func(title, name string, targets []quantity) {
		if !r.figures.Has(name, impl) {
			return
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |%s\n", title, r.figures.Figures(name, unmodified), r.figures.Figures(name, impl), r.figures.Figures(name, dropIn),
			r.figures.Ratio(name, impl, unmodified, measure.Nanoseconds), r.figures.Ratio(name, dropIn, unmodified, measure.Nanoseconds),
			shares(r.figures, name, impl, quantities, targets))
	}
	for _, c := range stepCases {
		row(title(c), metric(c), quantities)
	}
	row("A decision in a program that embeds OPA, All and json.Marshal", "Decision/case=marshal", nil)
	row("… instrumented", "Decision/case=instrumented", nil)
	row("… without metrics", "Decision/case=noop", nil)
	return b.String()
}

// rows is the table of all other rows of the catalogue, and what is worse.
func (r *report) rows() string {
	if !r.measured() {
		return notMeasured
	}
	var b strings.Builder
	b.WriteString("| case | goroutines | OPA | series | drop-in | time, series | bytes, series |\n|---|---|---|---|---|---|---|\n")
	var slower, more []string
	impl := series(r.steps)
	for _, row := range bench.Rows {
		for _, goroutines := range row.Goroutines {
			name := fmt.Sprintf("Metrics/case=%s/goroutines=%d", row.Name, goroutines)
			if !r.figures.Has(name, unmodified) || !r.figures.Has(name, impl) {
				continue
			}
			time, bytes := r.figures.Ratio(name, impl, unmodified, measure.Nanoseconds), r.figures.Ratio(name, impl, unmodified, measure.Bytes)
			called := fmt.Sprintf("`%s` (%d)", row.Name, goroutines)
			if time.IsLoss() {
				slower = append(slower, called)
			}
			if bytes.IsLoss() {
				more = append(more, called)
			}
			if goroutines == 1 && slices.Contains(stepCases, row.Name) {
				continue // in the table above
			}
			bytesText := "–" // none on either side
			if bytes.Median > 0 {
				bytesText = bytes.Marked("more")
			}
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s |\n", row.Title, goroutines, r.figures.Figures(name, unmodified), r.figures.Figures(name, impl),
				r.figures.Figures(name, dropIn), time.Marked("slower"), bytesText)
		}
	}
	list := func(what string, names []string) {
		fmt.Fprintf(&b, "\n%s than OPA's beyond noise, of all rows: %s.\n", what, cmp.Or(strings.Join(names, ", "), "none"))
	}
	list("Slower", slower)
	list("More bytes", more)
	return b.String()
}

// serverTable is the servers' table.
func (r *report) serverTable() string {
	if !r.server.Has("Server/case="+measure.Modes[0].Name, serverSeries) {
		return notMeasured
	}
	quantities := []quantity{passedTime, processorTime, memory}
	var b strings.Builder
	b.WriteString("| `POST /v1/data/rbac/allow` | | time until the next answer | processor time | bytes | allocations | share of time |" +
		" share of processor time | share of bytes | |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, mode := range measure.Modes {
		name := "Server/case=" + mode.Name
		for _, s := range serverSetups {
			fmt.Fprintf(&b, "| %s | %s |", mode.Name, s.title)
			for _, q := range quantities {
				v := r.server.Median(name, s.impl, q.unit)
				switch {
				case v == 0: // not known on this system
					b.WriteString(" – |")
				case s.impl == unmodified:
					fmt.Fprintf(&b, " %s |", q.text(v))
				default:
					fmt.Fprintf(&b, " %s; %s |", q.text(v), r.server.Ratio(name, s.impl, unmodified, q.unit))
				}
			}
			fmt.Fprintf(&b, " %.0f |", r.server.Median(name, s.impl, measure.Allocations))
			if s.impl == serverSeries {
				b.WriteString(shares(r.server, name, s.impl, quantities, []quantity{passedTime, memory}))
			} else {
				b.WriteString(strings.Repeat("  |", len(quantities)+1))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// evalTable is the table of opa eval.
func (r *report) evalTable() string {
	name := func(mode string) string { return "Eval/case=" + strings.ReplaceAll(mode, " ", "_") }
	if !r.server.Has(name(evalModes[0].name), serverSeries) {
		return notMeasured
	}
	var b strings.Builder
	b.WriteString("| time of the process |")
	for _, s := range serverSetups {
		fmt.Fprintf(&b, " %s |", s.title)
	}
	b.WriteString("\n|---|---|---|---|\n")
	for _, mode := range evalModes {
		fmt.Fprintf(&b, "| `opa %s` |", mode.name)
		for _, s := range serverSetups {
			text := passedTime.text(r.server.Median(name(mode.name), s.impl, measure.Nanoseconds))
			if s.impl != unmodified {
				text += fmt.Sprintf("; %s", r.server.Ratio(name(mode.name), s.impl, unmodified, measure.Nanoseconds))
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// save writes the page.
func (r *report) save(out string) error {
	text, err := r.page()
	if err != nil {
		return err
	}
	return outfile.Write(filepath.Join(out, "upstream.md"), []byte(text))
}
