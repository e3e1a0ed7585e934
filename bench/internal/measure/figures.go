// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aclements/go-moremath/stats"
)

// Results are the figures of benchmarks.
type Results struct {
	Config  map[string]string
	Samples map[Key][]Sample
}

// A Key names a benchmark, and its implementation.
type Key struct {
	Name string // "case=request/goroutines=1"
	Impl string
}

// A Sample is one run's figures by unit: ns/op, B/op, allocs/op, cpu-ns/op.
type Sample map[string]float64

var (
	configLine = regexp.MustCompile(`^([a-z]+): (.*)$`)
	processors = regexp.MustCompile(`-\d+$`)
)

// Parse reads the output of go test -bench. keyOf tells a benchmark's name from
// its implementation; it gets what stands between "Benchmark" and the number of
// processors. Nothing gives no results.
func Parse(text []byte, keyOf func(benchmark string) (Key, error)) (Results, error) {
	r := Results{Config: map[string]string{}, Samples: map[Key][]Sample{}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := configLine.FindStringSubmatch(line); m != nil {
			r.Config[m[1]] = m[2]
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		k, err := keyOf(processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), ""))
		if err != nil {
			return r, err
		}
		s := Sample{}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return r, fmt.Errorf("%q: %w", line, err)
			}
			s[fields[i+1]] = v
		}
		r.Samples[k] = append(r.Samples[k], s)
	}
	return r, nil
}

// The units.
const (
	Nanoseconds = "ns/op"
	Bytes       = "B/op"
	Allocations = "allocs/op"
	CPUTime     = "cpu-ns/op"
)

// Has reports whether there is a figure.
func (r Results) Has(name, impl string) bool { return len(r.Samples[Key{name, impl}]) > 0 }

// Median returns the median of a figure over all runs.
func (r Results) Median(name, impl, unit string) float64 {
	var values []float64
	for _, s := range r.Samples[Key{name, impl}] {
		values = append(values, s[unit])
	}
	return Median(values)
}

// Figures writes a benchmark's time, bytes and allocations.
func (r Results) Figures(name, impl string) string {
	return fmt.Sprintf("%s, %s, %.0f", Duration(r.Median(name, impl, Nanoseconds)), Size(r.Median(name, impl, Bytes)), r.Median(name, impl, Allocations))
}

// A Spread is a figure's median over the runs, with its confidence interval.
// With few runs there is none: it is infinite.
type Spread struct{ Median, Low, High float64 }

// confidence is that of the intervals, at least. The page has about a hundred
// ratios: at 95 % chance alone would make one or two of equal figures a loss.
const confidence = 0.99

// Ratio returns one side's figure by another's, each of the same run.
func (r Results) Ratio(name, impl, other, unit string) Spread {
	ours, theirs := r.Samples[Key{name, impl}], r.Samples[Key{name, other}]
	return SpreadOf(min(len(ours), len(theirs)), func(i int) float64 { return quotient(ours[i][unit], theirs[i][unit]) })
}

// SpreadOf returns the spread of a figure of each run.
func SpreadOf(runs int, figure func(run int) float64) Spread {
	var values []float64
	for i := range runs {
		values = append(values, figure(i))
	}
	if len(values) == 0 {
		return Spread{}
	}
	_, low, high := stats.QuantileCI(len(values), 0.5, confidence).SampleCI(stats.Sample{Xs: values})
	return Spread{Median(values), low, high}
}

func (s Spread) String() string {
	if math.IsInf(s.Low, -1) {
		return Number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", Number(s.Median), Number(s.Low), Number(s.High))
}

// IsLoss reports whether the whole interval is above 1, also in the digits that
// are shown: a median above 1 may be noise.
func (s Spread) IsLoss() bool { return s.Low > 1 && Number(s.Low) != Number(1) }

// Marked writes a ratio, in bold and with a word if it is a loss.
func (s Spread) Marked(word string) string {
	if s.IsLoss() {
		return "**" + s.String() + " " + word + "**"
	}
	return s.String()
}

// quotient is a/b, and 0 for nothing of nothing.
func quotient(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// Median returns the middle one of the values, and 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Clone(values)
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// Number writes a ratio with as many digits as say something.
func Number(v float64) string {
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

// Duration writes nanoseconds.
func Duration(ns float64) string {
	switch {
	case ns < 0:
		return "-" + Duration(-ns)
	case ns < 1e3:
		return significant(ns) + " ns"
	case ns < 1e6:
		return significant(ns/1e3) + " µs"
	default:
		return significant(ns/1e6) + " ms"
	}
}

// Size writes bytes.
func Size(bytes float64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%.0f B", bytes)
	}
	return significant(bytes/1e3) + " KB"
}

// significant writes three digits.
func significant(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}
