// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"github.com/regometer/regometer/internal/app/text"
)

// results are the figures of a part.
type results struct {
	raw     []byte
	config  map[string]string
	samples map[key][]sample // one of each run
}

// A key names a benchmark and its implementation. A benchmark without impl= is
// Regometer's.
type key struct{ name, impl string }

// A sample has the figures of a run by unit.
type sample map[string]float64

// The units.
const (
	nanoseconds     = "ns/op"
	allocated       = "B/op"
	allocations     = "allocs/op"
	processorTime   = "cpu-ns/op"
	throughput      = "MB/s"        // by the bytes of the file that is read
	resident        = "max-B"       // the most memory that was resident
	histogramMemory = "B/histogram" // the memory of a histogram
)

// parse reads the output of a part's benchmarks. It fails if some benchmarks
// ran more often than others, because only figures measured in turns can be
// compared.
func parse(part string, lines []byte) (results, error) {
	r := results{lines, map[string]string{}, map[key][]sample{}}
	reader := benchfmt.NewReader(bytes.NewReader(lines), part)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return r, record
		case *benchfmt.Result:
			for _, c := range record.Config {
				r.config[c.Key] = string(c.Value)
			}
			base, parts := record.Name.Parts()
			k := key{string(base), "regometer"}
			for _, p := range parts {
				if impl, ok := strings.CutPrefix(string(p), "/impl="); ok {
					k.impl = impl
				} else if p[0] == '/' {
					k.name += string(p)
				}
			}
			s := sample{}
			for _, v := range record.Values {
				if s[v.Unit] = v.Value; v.OrigUnit != "" {
					s[v.OrigUnit] = v.OrigValue
				}
			}
			r.samples[k] = append(r.samples[k], s)
		}
	}
	runs := 0
	for k, samples := range r.samples {
		if runs == 0 {
			runs = len(samples)
		}
		if len(samples) != runs {
			return r, fmt.Errorf("%d runs of %s, impl=%s, but %d of another: measure this part again", len(samples), k.name, k.impl, runs)
		}
	}
	return r, reader.Err()
}

func (r results) has(name, impl string) bool { return len(r.samples[key{name, impl}]) > 0 }

// values returns a figure of all runs.
func (r results) values(name, impl, unit string) (values []float64) {
	for _, s := range r.samples[key{name, impl}] {
		values = append(values, s[unit])
	}
	return values
}

// median returns a figure's median over all runs, and 0 if there is none.
func (r results) median(name, impl, unit string) float64 {
	return spreadOf(r.values(name, impl, unit)).Center
}

// A spread is a figure's median over the runs, with its confidence interval.
// With few runs the interval is infinite.
type spread struct{ benchmath.Summary }

// confidence is the least confidence of an interval. The page has about a
// hundred ratios. At 95 %, chance alone would make one or two of equal figures
// a loss.
const confidence = 0.99

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	return spread{benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), confidence)}
}

// ratio returns one side's figure divided by another's, each of the same run.
// 0 divided by 0 is 0.
func (r results) ratio(name, impl, other, unit string) spread {
	values, others := r.values(name, impl, unit), r.values(name, other, unit)
	values = values[:min(len(values), len(others))]
	for i := range values {
		if values[i] != 0 {
			values[i] /= others[i]
		}
	}
	return spreadOf(values)
}

func (s spread) String() string {
	switch {
	case s.Center == 0:
		return dash
	case math.IsInf(s.Lo, -1):
		return number(s.Center)
	default:
		return fmt.Sprintf("%s (%s–%s)", number(s.Center), number(s.Lo), number(s.Hi))
	}
}

// isLoss reports whether the whole interval is above 1, even in the digits that
// are shown. A median above 1 may be noise.
func (s spread) isLoss() bool { return s.Lo > 1 && number(s.Lo) != number(1) }

// marked writes a ratio. If it is a loss, it is bold and followed by a word.
func (s spread) marked(word string) string { return bold(s.isLoss(), s.String(), word) }

// bold writes a text. If it is a loss, it is bold and followed by a word.
func bold(loss bool, text, word string) string {
	if loss {
		return "**" + text + " " + word + "**"
	}
	return text
}

// number writes a ratio.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func count(v float64) string { return fmt.Sprintf("%.0f", v) }

func size(bytes float64) string { return text.Bytes(int64(math.RoundToEven(bytes))) }

func rate(megabytes float64) string { return size(1e6*megabytes) + "/s" }

// duration writes a time. Some take a few nanoseconds, which get three digits
// too.
func duration(ns float64) string {
	if math.Abs(ns) < 100 {
		return fmt.Sprintf("%#.3g ns", ns)
	}
	return text.Duration(ns)
}

// dash stands for a figure that is not known.
const dash = "–"

func orDash(v float64, format func(float64) string) string {
	if v == 0 {
		return dash
	}
	return format(v)
}

// cell writes the median of a figure.
func (r results) cell(name, impl, unit string) string {
	return orDash(r.median(name, impl, unit), map[string]func(float64) string{
		nanoseconds: duration, processorTime: duration, allocated: size, histogramMemory: size,
		allocations: count, throughput: rate, resident: size,
	}[unit])
}
