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

	opa "github.com/regometer/regometer/bench/cases/opa"
	regometer "github.com/regometer/regometer/bench/cases/regometer"
	"github.com/regometer/regometer/bench/workload"
)

// In every other run the sides swap places, so that neither always runs on
// the warmer machine.
var reverse = flag.Bool("reverse", false, "measure impl=regometer before impl=opa")

func BenchmarkMetrics(b *testing.B) {
	impls := []string{"opa", "regometer"}
	if *reverse {
		slices.Reverse(impls)
	}
	for _, row := range Rows {
		run := map[string]func(*testing.B, int){
			"opa":       opa.Cases[row.Name].Run,
			"regometer": regometer.Cases[row.Name].Run,
			"floor":     floors[row.Name],
		}
		b.Run("case="+row.Name, func(b *testing.B) {
			for _, goroutines := range row.Goroutines {
				b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
					for _, impl := range append(impls, "floor") {
						if run[impl] == nil {
							continue
						}
						b.Run("impl="+impl, func(b *testing.B) {
							b.ReportAllocs()
							run[impl](b, goroutines)
						})
					}
				})
			}
		})
	}
}

// Each case's two sides must give the same output, or their times say
// nothing.
func TestSidesAgree(t *testing.T) {
	t.Parallel()
	for _, row := range Rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			if opa.Cases[row.Name].Result == nil || regometer.Cases[row.Name].Result == nil {
				t.Skip("not in Cases: see TestCatalogueIsComplete, TestSidesAreMirrored")
			}
			want, got := opa.Cases[row.Name].Result(), regometer.Cases[row.Name].Result()
			timed := strings.HasPrefix(row.Name, "instrumented") // histograms of real durations
			if want, got := describe(want, timed), describe(got, timed); want != got {
				t.Errorf("OPA gives\n%s\nRegometer gives\n%s", want, got)
			}
		})
	}
}

// The two sides must run the same text: they differ in an import alone.
func TestSidesAreMirrored(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := bytes.ReplaceAll(read("cases/opa/cases.go"),
		[]byte(`"github.com/open-policy-agent/opa/v1/metrics"`), []byte(`"github.com/regometer/regometer/metrics"`))
	if !bytes.Equal(want, read("cases/regometer/cases.go")) {
		t.Error("cases/regometer/cases.go is not cases/opa/cases.go with our import: run go generate ./cases/regometer")
	}
}

func TestCatalogueIsComplete(t *testing.T) {
	t.Parallel()
	var names []string
	for _, row := range Rows {
		names = append(names, row.Name)
		if row.Target != nil && !slices.Contains(row.Goroutines, row.TargetGoroutines) {
			t.Errorf("%s: the target is for %d goroutines, which are not measured", row.Name, row.TargetGoroutines)
		}
		if row.Target != nil && row.Target.Floor > 0 && floors[row.Name] == nil {
			t.Errorf("%s: target for a floor that does not exist", row.Name)
		}
	}
	for _, name := range names {
		if c := opa.Cases[name]; c.Run == nil || c.Result == nil {
			t.Errorf("row %s: Cases lacks what it runs, or its result", name)
		}
	}
	for name := range opa.Cases {
		if !slices.Contains(names, name) {
			t.Errorf("case %s has no row in the catalogue", name)
		}
	}
	for name := range floors {
		if !slices.Contains(names, name) {
			t.Errorf("floor of an unknown case %q", name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(Rows) {
		t.Error("two rows have one name")
	}
}

func TestValuesAreNeverBoxedForFree(t *testing.T) {
	t.Parallel()
	if least := slices.Min(workload.Values(1, 10_000)); least < 256 {
		t.Errorf("least value is %d", least)
	}
}

var (
	numbers = regexp.MustCompile(`:-?[0-9][0-9.e+-]*`)
	times   = regexp.MustCompile(`timer_(\S+)_ns:[0-9]+`)
	stddevs = regexp.MustCompile(`stddev:([0-9.e+-]+)`)
)

// describe writes what a case gave as text that is equal on both sides: types
// and values, but for timers only whether time has passed, and for standard
// deviations, whose last digits OPA's own package varies, 12 digits. JSON is
// described by its bytes without the numbers and by what it decodes to. With
// timed, no value is shown.
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
			case nested, timed && key != "count":
				if !nested {
					value = "any"
				}
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
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case json.Number:
		f, _ = v.Float64()
	default:
		f = math.NaN()
	}
	return fmt.Sprintf("%.12g", f)
}
