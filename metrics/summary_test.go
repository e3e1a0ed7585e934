// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// exact computes a summary by the definition, with big numbers.
func exact(values []int64) *Summary {
	sorted := slices.Sorted(slices.Values(values))
	size := big.NewInt(int64(len(sorted)))
	sum, squares := new(big.Int), new(big.Int)
	for _, v := range sorted {
		x := big.NewInt(v)
		sum.Add(sum, x)
		squares.Add(squares, x.Mul(x, x))
	}
	s := &Summary{}
	s.Count = size.Int64()
	s.Mean, _ = new(big.Rat).SetFrac(sum, size).Float64()
	// The variance is (n·Σv² − (Σv)²) / n².
	squares.Mul(squares, size).Sub(squares, sum.Mul(sum, sum))
	variance := new(big.Rat).SetFrac(squares, size.Mul(size, size))
	root := new(big.Float).SetPrec(200).SetRat(variance)
	s.StdDev, _ = root.Sqrt(root).Float64()
	s.percentiles(len(sorted), func(i int) int64 { return sorted[i] })
	return s
}

func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 4e-16*math.Abs(want)
}

// Statistics is exact for any count of numbers, and a histogram for up to
// 1,028. Neither changes the numbers. TestConformance checks the percentiles.
func TestSummariesAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 3, 100, reservoirSize, reservoirSize + 1, 5000, 100_000} {
		for name, samples := range sortInputs(r, n) {
			values := make([]int64, 0, n)
			h := new(histogram)
			for _, x := range samples {
				values = append(values, x.value)
				h.Update(x.value)
			}
			original := slices.Clone(values)
			got, _ := summaryOf(Statistics(values...))
			all := []Summary{got}
			if n <= reservoirSize {
				all = append(all, Metric{value: h}.Summary())
			}
			want := exact(values)
			for _, got := range all {
				if !near(got.Mean, want.Mean) || !near(got.StdDev, want.StdDev) {
					t.Errorf("%d %s values: mean %v and standard deviation %v, want %v and %v",
						n, name, got.Mean, got.StdDev, want.Mean, want.StdDev)
				}
				got.Mean, got.StdDev = want.Mean, want.StdDev
				if got != *want {
					t.Errorf("%d %s values: %v, want %v", n, name, got, *want)
				}
			}
			if !slices.Equal(values, original) {
				t.Errorf("%d %s values: Statistics changed its arguments", n, name)
			}
		}
	}
}

// Every field of a Summary is in the list of fields, which is sorted by name.
// All forms of output have the fields and values of the list.
func TestSummaryFields(t *testing.T) {
	var s Summary
	places := map[any]bool{}
	want := map[string]any{}
	last := ""
	for i, f := range s.fields() {
		if f.name <= last {
			t.Errorf("%q comes after %q", f.name, last)
		}
		last = f.name
		places[f.place] = true
		switch place := f.place.(type) {
		case *int64:
			*place = int64(i) + 1
			want[f.name] = *place
		case *float64:
			*place = float64(i) + 1.5e21 // which fmt and JSON write in different ways
			want[f.name] = *place
		}
	}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if !places[v.Field(i).Addr().Interface()] {
			t.Errorf("%s is not in the list of fields", v.Type().Field(i).Name)
		}
	}
	box := newBoxes()
	if got := s.toMap(&box); !reflect.DeepEqual(got, want) {
		t.Errorf("toMap: %v, want %v", got, want)
	}
	if got, ok := summaryOf(want); got != s || !ok {
		t.Errorf("summaryOf: %v, %v, want %v", got, ok, s)
	}
	for name := range want {
		less := maps.Clone(want)
		delete(less, name)
		if _, ok := summaryOf(less); ok {
			t.Errorf("summaryOf takes a map without %q", name)
		}
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.appendTo(nil, &summaryJSON); !bytes.Equal(got, text) {
		t.Errorf("JSON: %s, want %s", got, text)
	}
	if got, want := string(s.appendTo(nil, &summaryText)), fmt.Sprint(want); got != want {
		t.Errorf("text: %s, want %s", got, want)
	}
}

// The words of n·Σv² carry into each other.
func TestStdDevCarries(t *testing.T) {
	const n = 1028
	s := sums{squares: [3]uint64{math.MaxUint64, math.MaxUint64 / n, 5}}
	sum := new(big.Int)
	for i := range s.squares {
		sum.Add(sum.Lsh(sum, 64), new(big.Int).SetUint64(s.squares[2-i]))
	}
	f, _ := new(big.Float).SetInt(sum).Float64()
	want := math.Sqrt(f / n)
	if got := s.stdDev(n); math.Abs(got-want) > 1e-15*want {
		t.Errorf("got %v, want %v", got, want)
	}
}
