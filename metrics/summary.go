// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/bits"
	"strconv"
)

// Summary describes the values of a histogram. It is exact for up to 1,028
// values. With more values, Count is the number of all updates, and the other
// fields describe a sample of 1,028 values (see [Histogram]). A histogram
// without values has the zero Summary.
type Summary struct {
	Count, Min, Max int64
	Mean            float64
	StdDev          float64 // of the population
	// The percentiles. Percentile p of n sorted values is at position p·(n+1),
	// counted from 1. It is interpolated between its neighbours and clamped to
	// the ends.
	Median, P75, P90, P95, P99, P999, P9999 float64
}

const summaryFields = 12

// fields returns the fields of s with their names in the output, sorted by
// name. All outputs use this list, except appendTo, which names the fields in
// the same order.
func (s *Summary) fields() [summaryFields]summaryField {
	return [summaryFields]summaryField{
		{"75%", &s.P75},
		{"90%", &s.P90},
		{"95%", &s.P95},
		{"99%", &s.P99},
		{"99.9%", &s.P999},
		{"99.99%", &s.P9999},
		{"count", &s.Count},
		{"max", &s.Max},
		{"mean", &s.Mean},
		{"median", &s.Median},
		{"min", &s.Min},
		{"stddev", &s.StdDev},
	}
}

type summaryField struct {
	name  string
	place any // an *int64 or a *float64
}

// summaryFormat is a text format.
type summaryFormat struct {
	labels [summaryFields]string // the text before each field
	end    string
	float  byte // the format for strconv, or 0 for JSON's format
}

var (
	summaryNames = summaryLabels("", "", "")
	summaryJSON  = summaryFormat{summaryLabels(`{"`, `,"`, `":`), "}", 0}
	summaryText  = summaryFormat{summaryLabels("map[", " ", ":"), "]", 'g'} // of fmt
)

// summaryLabels returns the names of the fields with the text around them.
func summaryLabels(first, next, after string) (labels [summaryFields]string) {
	before := first
	for i, f := range new(Summary).fields() {
		labels[i] = before + f.name + after
		before = next
	}
	return labels
}

// appendTo appends the summary in a format.
func (s *Summary) appendTo(dst []byte, format *summaryFormat) []byte {
	for i, f := range s.fields() {
		dst = append(dst, format.labels[i]...)
		switch place := f.place.(type) {
		case *int64:
			dst = strconv.AppendInt(dst, *place, 10)
		case *float64:
			if format.float != 0 {
				dst = strconv.AppendFloat(dst, *place, format.float, -1, 64)
			} else {
				dst = appendFloat(dst, *place)
			}
		}
	}
	return append(dst, format.end...)
}

// toMap returns the summary in the form of [Histogram.Value].
func (s *Summary) toMap(box *boxes) map[string]any {
	m := make(map[string]any, summaryFields)
	for i, f := range s.fields() {
		name := summaryNames[i] // f.name would move s to the heap
		switch place := f.place.(type) {
		case *int64:
			m[name] = box.int64(*place)
		case *float64:
			m[name] = box.float64(*place)
		}
	}
	return m
}

// summaryOf reads a summary from the form of [Histogram.Value]. It returns
// false if a field is missing or has another type.
func summaryOf(value any) (s Summary, ok bool) {
	m, ok := value.(map[string]any)
	if !ok {
		return Summary{}, false
	}
	for _, f := range s.fields() {
		switch place := f.place.(type) {
		case *int64:
			*place, ok = m[f.name].(int64)
		case *float64:
			*place, ok = m[f.name].(float64)
		}
		if !ok {
			return Summary{}, false
		}
	}
	return s, true
}

// percentiles fills in the extremes and percentiles of n values, n > 0. at
// returns the value at an index of the sorted order.
func (s *Summary) percentiles(n int, at func(int) int64) {
	s.Min, s.Max = at(0), at(n-1)
	percentile := func(p float64) float64 {
		pos := p * float64(n+1)
		switch {
		case pos < 1:
			return float64(s.Min)
		case pos >= float64(n):
			return float64(s.Max)
		}
		lower := float64(at(int(pos) - 1))
		upper := float64(at(int(pos)))
		return lower + (pos-math.Floor(pos))*(upper-lower)
	}
	s.Median = percentile(0.5)
	s.P75 = percentile(0.75)
	s.P90 = percentile(0.9)
	s.P95 = percentile(0.95)
	s.P99 = percentile(0.99)
	s.P999 = percentile(0.999)
	s.P9999 = percentile(0.9999)
}

// sums holds the exact sums of values and of their squares.
type sums struct {
	sum     [2]uint64 // two's complement, the low word first
	squares [3]uint64 // the low word first
}

// addAll adds the values of samples. It works on local copies of the words, so
// that the compiler keeps them in registers.
func (s *sums) addAll(samples []sample) {
	sum0, sum1 := s.sum[0], s.sum[1]
	squares0, squares1, squares2 := s.squares[0], s.squares[1], s.squares[2]
	for i := range samples {
		v := samples[i].value
		var c uint64
		sum0, c = bits.Add64(sum0, uint64(v), 0)
		sum1, _ = bits.Add64(sum1, uint64(v>>63), c)
		hi, lo := square(v)
		squares0, c = bits.Add64(squares0, lo, 0)
		squares1, c = bits.Add64(squares1, hi, c)
		squares2 += c
	}
	s.sum = [2]uint64{sum0, sum1}
	s.squares = [3]uint64{squares0, squares1, squares2}
}

func (s *sums) remove(v int64) {
	var b uint64
	s.sum[0], b = bits.Sub64(s.sum[0], uint64(v), 0)
	s.sum[1] -= uint64(v>>63) + b
	hi, lo := square(v)
	s.squares[0], b = bits.Sub64(s.squares[0], lo, 0)
	s.squares[1], b = bits.Sub64(s.squares[1], hi, b)
	s.squares[2] -= b
}

func square(v int64) (hi, lo uint64) {
	u := uint64(v)
	sign := uint64(v >> 63)
	u = (u ^ sign) - sign // |v|, without a branch
	return bits.Mul64(u, u)
}

// magnitude returns the absolute value of the sum.
func (s *sums) magnitude() (hi, lo uint64, negative bool) {
	lo, hi = s.sum[0], s.sum[1]
	if int64(hi) < 0 {
		var b uint64
		lo, b = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, b)
		return hi, lo, true
	}
	return hi, lo, false
}

// mean returns the mean of the n values in s. n must not be 0.
func (s *sums) mean(n int) float64 {
	if s.sum[1] == uint64(int64(s.sum[0])>>63) { // the sum fits an int64
		return float64(int64(s.sum[0])) / float64(n) // rounded as floats are
	}
	hi, lo, negative := s.magnitude()
	mean := (float64(hi)*(1<<64) + float64(lo)) / float64(n)
	if negative {
		return -mean
	}
	return mean
}

// stdDev returns the standard deviation of the n values in s, as a population:
// √(n·Σv² − (Σv)²) / n. The difference is exact, because both terms are below
// 2¹⁹² for up to 2³² values. So no digits cancel.
func (s *sums) stdDev(n int) float64 {
	// n·Σv²
	var a [3]uint64
	hi0, lo0 := bits.Mul64(s.squares[0], uint64(n))
	hi1, lo1 := bits.Mul64(s.squares[1], uint64(n))
	var c uint64
	a[0] = lo0
	a[1], c = bits.Add64(hi0, lo1, 0)
	a[2] = s.squares[2]*uint64(n) + hi1 + c
	// (Σv)² = hi²·2¹²⁸ + 2·hi·lo·2⁶⁴ + lo²
	hi, lo, _ := s.magnitude()
	var b [3]uint64
	hi0, lo0 = bits.Mul64(lo, lo)
	hi1, lo1 = bits.Mul64(hi<<1, lo)
	b[0] = lo0
	b[1], c = bits.Add64(hi0, lo1, 0)
	b[2] = hi*hi + hi1 + c

	a[0], c = bits.Sub64(a[0], b[0], 0)
	a[1], c = bits.Sub64(a[1], b[1], c)
	a[2], _ = bits.Sub64(a[2], b[2], c)
	variance := (float64(a[2])*(1<<64)*(1<<64) + float64(a[1])*(1<<64) + float64(a[0])) /
		(float64(n) * float64(n))
	return math.Sqrt(variance)
}
