// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aclements/go-moremath/stats"
)

// results are one part's figures.
type results struct {
	config  map[string]string
	samples map[key][]sample
}

// key names a benchmark without its implementation.
type key struct {
	name string // "case=request/goroutines=1"; in the part stages with the function before it
	impl string
}

// A sample is one run's figures by unit: ns/op, B/op, allocs/op, cpu-ns/op.
type sample map[string]float64

var (
	configLine = regexp.MustCompile(`^([a-z]+): (.*)$`)
	implPart   = regexp.MustCompile(`/impl=([a-z_]+)$`)
	processors = regexp.MustCompile(`-\d+$`)
)

// parseKey reads a benchmark's name. In the part stages, one without an
// implementation is Regometer's.
func parseKey(part, benchmark string) (key, error) {
	name := processors.ReplaceAllString(strings.TrimPrefix(benchmark, "Benchmark"), "")
	if part != "stages" {
		_, name, _ = strings.Cut(name, "/")
	}
	if m := implPart.FindStringSubmatchIndex(name); m != nil {
		return key{name[:m[0]], name[m[2]:m[3]]}, nil
	}
	if part != "stages" {
		return key{}, fmt.Errorf("benchmark without impl=: %q", benchmark)
	}
	return key{name, "regometer"}, nil
}

// parseResults reads the output of a part's benchmarks. Nothing gives no
// results.
func parseResults(part string, text []byte) (results, error) {
	r := results{config: map[string]string{}, samples: map[key][]sample{}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := configLine.FindStringSubmatch(line); m != nil {
			r.config[m[1]] = m[2]
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		k, err := parseKey(part, fields[0])
		if err != nil {
			return r, err
		}
		s := sample{}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return r, fmt.Errorf("%q: %w", line, err)
			}
			s[fields[i+1]] = v
		}
		r.samples[k] = append(r.samples[k], s)
	}
	if part == "server" && len(r.samples) > 0 {
		return r, r.checkServers()
	}
	return r, nil
}

// checkServers returns an error unless there are figures of all servers, and of
// no others, of equally many runs: what is compared is what was measured in
// turns.
func (r results) checkServers() error {
	expected := make(map[key]bool)
	runs := -1
	for _, mode := range serverModes {
		for _, s := range serverSetups {
			k := key{"case=" + mode.name, s.impl}
			expected[k] = true
			n := len(r.samples[k])
			if n == 0 {
				return fmt.Errorf("no figures of %s/impl=%s: measure this part anew", k.name, k.impl)
			}
			if runs < 0 {
				runs = n
			}
			if n != runs {
				return fmt.Errorf("%d runs of %s/impl=%s, not %d: measure this part anew", n, k.name, k.impl, runs)
			}
		}
	}
	for k := range r.samples {
		if !expected[k] {
			return fmt.Errorf("unknown benchmark %s/impl=%s: measure this part anew", k.name, k.impl)
		}
	}
	return nil
}

// The units.
const (
	nanoseconds = "ns/op"
	byteCount   = "B/op"
	allocations = "allocs/op"
	cpuTime     = "cpu-ns/op"
)

func (r results) has(name, impl string) bool { return len(r.samples[key{name, impl}]) > 0 }

// median returns the median of a figure over all runs.
func (r results) median(name, impl, unit string) float64 {
	var values []float64
	for _, s := range r.samples[key{name, impl}] {
		values = append(values, s[unit])
	}
	return median(values)
}

// spread is a figure's median over the runs, with its confidence interval. With
// few runs there is none: it is infinite.
type spread struct{ median, low, high float64 }

// confidence is that of the intervals, at least. The page has about a hundred
// ratios: at 95 % chance alone would make one or two of equal figures a loss.
const confidence = 0.99

// ratio returns one side's figure by another's, each of the same run.
func (r results) ratio(name, impl, other, unit string) spread {
	ours, theirs := r.samples[key{name, impl}], r.samples[key{name, other}]
	return spreadOf(min(len(ours), len(theirs)), func(i int) float64 { return quotient(ours[i][unit], theirs[i][unit]) })
}

func spreadOf(runs int, figure func(run int) float64) spread {
	var values []float64
	for i := range runs {
		values = append(values, figure(i))
	}
	if len(values) == 0 {
		return spread{}
	}
	_, low, high := stats.QuantileCI(len(values), 0.5, confidence).SampleCI(stats.Sample{Xs: values})
	return spread{median(values), low, high}
}

func (s spread) String() string {
	if math.IsInf(s.low, -1) {
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.median), number(s.low), number(s.high))
}

// isLoss reports whether the whole interval is above 1, also in the digits that
// are shown: a median above 1 may be noise.
func (s spread) isLoss() bool { return s.low > 1 && number(s.low) != number(1) }

// quotient is a/b, and 0 for nothing of nothing.
func quotient(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

func median(values []float64) float64 {
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
