// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func BenchmarkMetrics(b *testing.B) {
	for _, c := range Cases {
		b.Run("case="+c.Name, func(b *testing.B) {
			for _, goroutines := range c.Goroutines {
				b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
					b.Run("impl="+side, func(b *testing.B) {
						b.ReportAllocs()
						c.run(b, goroutines)
					})
					if side == "opa" || c.floor == nil {
						return
					}
					output, _ := c.result().([]byte)
					b.Run("impl=floor", func(b *testing.B) {
						b.ReportAllocs()
						c.floor(b, goroutines, output)
					})
				})
			}
		})
	}
}

var resultsFile = flag.String("results", "", "write what the cases return to this file, equal on both sides")

// TestResults writes what each case returns. Command benchtable compares the
// two sides' files before it measures: if the sides disagree, times say
// nothing.
func TestResults(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	write := func(name string, result any, timed bool) {
		described := describe(result, timed)
		if result == nil || strings.Contains(described, "invalid JSON") {
			t.Errorf("%s returns %q", name, described)
		}
		fmt.Fprintf(&text, "%s\n%s\n", name, described)
	}
	for _, c := range Cases {
		write(c.Name, c.result(), strings.HasPrefix(c.Name, "instrumented")) // histograms of real durations
	}
	query, input := prepare(t), embeddedInput(t)
	for _, v := range variants {
		m := v.collection()
		decide(t, query, input, m, v.instrument)
		write(v.name, must(v.output(m, nil)), true)
	}
	if *resultsFile != "" {
		if err := os.WriteFile(*resultsFile, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCasesAreComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range Cases {
		if names[c.Name] {
			t.Errorf("two cases are named %s", c.Name)
		}
		names[c.Name] = true
		if c.Target != nil && !slices.Contains(c.Goroutines, c.Target.Goroutines) {
			t.Errorf("%s: the target is for %d goroutines, which are not measured", c.Name, c.Target.Goroutines)
		}
		if c.Target != nil && c.Target.Floor > 0 && c.floor == nil {
			t.Errorf("%s: target for a floor that does not exist", c.Name)
		}
	}
}

func TestValuesAreNeverBoxedForFree(t *testing.T) {
	t.Parallel()
	if least := slices.Min(Values(1, 10_000)); least < 256 {
		t.Errorf("least value is %d", least)
	}
}

var (
	numbers = regexp.MustCompile(`:-?[0-9][0-9.e+-]*`)
	times   = regexp.MustCompile(`timer_(\S+)_ns:[0-9]+`)
	stddevs = regexp.MustCompile(`stddev:([0-9.e+-]+)`)
)

// describe writes what a case returns as text that is equal on both sides. It
// has types and values, except for timers, of which it tells only whether time
// has passed. Standard deviations have 12 digits, because OPA's last digits
// vary. JSON is described by its bytes without the numbers and by what it
// decodes to. With timed, no values are shown except counts.
func describe(v any, timed bool) string {
	switch v := v.(type) {
	case []byte:
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		var decoded map[string]any
		if err := d.Decode(&decoded); err != nil {
			return fmt.Sprintf("invalid JSON: %v: %s", err, v)
		}
		return numbers.ReplaceAllString(string(v), ":N") + "\n" + describe(decoded, timed)
	case map[string]any:
		var text strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value := v[key]
			switch _, nested := value.(map[string]any); {
			case nested:
			case timed && key != "count":
				value = "any"
			case strings.HasPrefix(key, "timer_"):
				value = fmt.Sprint(value) != "0"
			case key == "stddev":
				value = roundedText(value)
			}
			fmt.Fprintf(&text, "%s %T {%s}\n", key, v[key], describe(value, timed))
		}
		return text.String()
	case string:
		text := times.ReplaceAllString(v, "timer_${1}_ns:N")
		return stddevs.ReplaceAllStringFunc(text, func(s string) string {
			return "stddev:" + roundedText(json.Number(strings.TrimPrefix(s, "stddev:")))
		})
	case []any:
		var text strings.Builder
		for _, element := range v {
			fmt.Fprintf(&text, "%T %v\n", element, element)
		}
		return text.String()
	default:
		return fmt.Sprint(v)
	}
}

func roundedText(v any) string {
	f := math.NaN()
	switch v := v.(type) {
	case float64:
		f = v
	case json.Number:
		f, _ = v.Float64()
	}
	return fmt.Sprintf("%.12g", f)
}
