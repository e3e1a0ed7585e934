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

// exact computes the mean and the standard deviation with arbitrary precision.
func exact(values []int64) (mean, stdDev float64) {
	n := big.NewInt(int64(len(values)))
	sum, squares := new(big.Int), new(big.Int)
	for _, v := range values {
		b := big.NewInt(v)
		sum.Add(sum, b)
		squares.Add(squares, new(big.Int).Mul(b, b))
	}
	mean, _ = new(big.Rat).SetFrac(sum, n).Float64()
	variance := new(big.Rat).SetFrac(
		new(big.Int).Sub(new(big.Int).Mul(n, squares), new(big.Int).Mul(sum, sum)),
		new(big.Int).Mul(n, n))
	root := new(big.Float).SetPrec(200).SetRat(variance)
	stdDev, _ = root.Sqrt(root).Float64()
	return mean, stdDev
}

func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 4e-16*math.Abs(want)
}

// Every field of a Summary is in the list of fields, which is sorted by name,
// and all forms of output have the fields and values of the list.
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

func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 100, reservoirSize, 5000} {
		for name, samples := range sortInputs(r, n) {
			var s sums
			values := make([]int64, 0, n)
			for _, x := range samples {
				values = append(values, x.value)
			}
			s.addAll(samples)
			s.addAll(samples)
			for _, x := range samples {
				s.remove(x.value)
			}
			mean, stdDev := exact(values)
			overflows := s.sum[1] != uint64(int64(s.sum[0])>>63)
			if got := s.mean(n); !near(got, mean) || overflows && got != mean {
				t.Errorf("%d %s values: mean %v, want %v", n, name, got, mean)
			}
			if got := s.stdDev(n); !near(got, stdDev) {
				t.Errorf("%d %s values: standard deviation %v, want %v", n, name, got, stdDev)
			}
		}
	}
}

// TestStdDevCarries: the words of n·Σv² carry into each other.
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

// A mean whose sum exceeds an int64 is rounded once.
func TestMeanIsRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 20_000 {
		values := make([]int64, 2+r.IntN(1200))
		samples := make([]sample, len(values))
		v := int64(r.Uint64()) >> r.IntN(12)
		for i := range values {
			values[i] = v + r.Int64N(3)*int64(r.IntN(2))
			samples[i].value = values[i]
		}
		var s sums
		s.addAll(samples)
		if s.sum[1] == uint64(int64(s.sum[0])>>63) {
			continue
		}
		if want, _ := exact(values); s.mean(len(values)) != want {
			t.Fatalf("mean of %d values from %d: %v, want %v", len(values), v, s.mean(len(values)), want)
		}
	}
}

// Means so close to the middle of two float64s that only what is behind the
// 64th digit says which is nearer.
func TestMeanNearTheMiddle(t *testing.T) {
	const middle = 1<<62 + 1<<9 // float64s are 2¹⁰ apart here
	for _, values := range [][]int64{
		{middle, middle, middle},
		{middle, middle, middle + 1},
		{middle, middle, middle - 1},
		{middle + 1<<10, middle + 1<<10, middle + 1<<10},
		{middle + 1<<10, middle + 1<<10, middle + 1<<10 - 1},
		append(slices.Repeat([]int64{middle}, 1000), middle+1),
	} {
		for _, sign := range []int64{1, -1} {
			var s sums
			signed := make([]int64, len(values))
			for i, v := range values {
				signed[i] = sign * v
				s.addAll([]sample{{value: sign * v}})
			}
			if want, _ := exact(signed); s.mean(len(values)) != want {
				t.Errorf("mean of %.100v: %v, want %v", fmt.Sprint(signed), s.mean(len(values)), want)
			}
		}
	}
}

// The sums of as many values as stdDev allows, all at one end: the words do not
// overflow.
func TestSumsAtTheirLimit(t *testing.T) {
	log2n := 32 // a variable, for platforms where 2³² is no int
	n := 1 << log2n
	if n == 0 {
		t.Skip("there can be no slice of so many here")
	}
	for _, v := range []int64{math.MinInt64, math.MaxInt64} {
		hi, lo := square(v)
		s := sums{
			sum:     [2]uint64{uint64(v) << 32, uint64(v >> 32)},
			squares: [3]uint64{lo << 32, hi<<32 | lo>>32, hi >> 32},
		}
		if got := s.mean(n); got != float64(v) {
			t.Errorf("mean of 2³² values %d: %v", v, got)
		}
		if got := s.stdDev(n); got != 0 {
			t.Errorf("standard deviation of 2³² values %d: %v", v, got)
		}
	}
}
