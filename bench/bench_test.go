// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func BenchmarkMetrics(b *testing.B) {
	for _, c := range Cases {
		operation := operations[c.Name]
		b.Run("case="+c.Name, func(b *testing.B) {
			for _, goroutines := range c.Goroutines {
				b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
					b.Run("impl="+side, func(b *testing.B) { operation.run(b, goroutines) })
					if side == "opa" || operation.floor == nil {
						return
					}
					output, _ := operation.result().([]byte)
					b.Run("impl=floor", func(b *testing.B) {
						Spread(b, goroutines, func(n int) { operation.floor(output, n) })
					})
				})
			}
		})
	}
}

var resultsFile = flag.String("results", "", "write the results of the cases to this file, equal on both sides")

// TestResults writes the result of each case. Command benchtable compares the
// files of the two sides before it measures: if the sides disagree, times say
// nothing.
func TestResults(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	write := func(name string, result any, varies bool) {
		described := describe(result, varies)
		if result == nil || strings.Contains(described, "invalid JSON") {
			t.Errorf("%s returns %q", name, described)
		}
		fmt.Fprintf(&text, "%s\n%s\n", name, described)
	}
	for _, c := range Cases {
		write(c.Name, operations[c.Name].result(), operations[c.Name].varies)
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
		if operations[c.Name].run == nil {
			t.Errorf("%s has no code", c.Name)
		}
		if c.Target != nil && !slices.Contains(c.Goroutines, c.Target.Goroutines) {
			t.Errorf("%s: the target is for %d goroutines, which are not measured", c.Name, c.Target.Goroutines)
		}
		if c.Target != nil && c.Target.Floor != Unlimited && operations[c.Name].floor == nil {
			t.Errorf("%s: target for a floor that does not exist", c.Name)
		}
	}
	if len(operations) != len(Cases) {
		t.Errorf("code for %d cases, of %d", len(operations), len(Cases))
	}
	if least := slices.Min(Values(1, 10_000)); least < 256 {
		t.Errorf("the least value is %d, which Go converts to an interface without an allocation", least)
	}
}

var (
	numbers = regexp.MustCompile(`:-?[0-9][0-9.e+-]*`)
	times   = regexp.MustCompile(`timer_(\S+)_ns:[0-9]+`)
	stddevs = regexp.MustCompile(`stddev:([0-9.e+-]+)`)
)

// describe writes the result of a case as text that is equal on both sides. It
// writes types and values. Of a timer it writes only whether time has passed.
// Standard deviations have 12 digits, because OPA's last digits vary. Of JSON
// it writes the bytes without the numbers, and the decoded value. If values
// vary, it writes only counts.
func describe(v any, varies bool) string {
	switch v := v.(type) {
	case []byte:
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		var decoded map[string]any
		if err := d.Decode(&decoded); err != nil {
			return fmt.Sprintf("invalid JSON: %v: %s", err, v)
		}
		return numbers.ReplaceAllString(string(v), ":N") + "\n" + describe(decoded, varies)
	case map[string]any:
		var text strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value := v[key]
			switch _, nested := value.(map[string]any); {
			case nested:
			case varies && key != "count":
				value = "any"
			case strings.HasPrefix(key, "timer_"):
				value = fmt.Sprint(value) != "0"
			case key == "stddev":
				value = roundedText(value)
			}
			fmt.Fprintf(&text, "%s %T {%s}\n", key, v[key], describe(value, varies))
		}
		return text.String()
	case string:
		text := times.ReplaceAllString(v, "timer_${1}_ns:N")
		return stddevs.ReplaceAllStringFunc(text, func(s string) string {
			return "stddev:" + roundedText(strings.TrimPrefix(s, "stddev:"))
		})
	default:
		return fmt.Sprint(v)
	}
}

func roundedText(v any) string {
	f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.12g", f)
}
