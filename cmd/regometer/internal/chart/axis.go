// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// An Axis goes from one value to another and is marked.
type Axis struct {
	Low, High   float64
	Logarithmic bool
	Ticks       []Tick
	Label       string
}

// A Tick is a mark of an axis.
type Tick struct {
	Value float64
	Label string
}

// part returns the place of a value between the ends, from 0 to 1.
func (a Axis) part(v float64) float64 {
	v = min(max(v, a.Low), a.High)
	if a.Logarithmic {
		return math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// marks are 1, 2, 5, 10, 20, … up to a number above the longest duration in ns.
var marks = func() (all []float64) {
	for exponent := range 20 {
		for _, mantissa := range []float64{1, 2, 5} {
			all = append(all, mantissa*math.Pow10(exponent))
		}
	}
	return all
}()

// Durations returns a logarithmic axis of durations in ns that has room for the
// values low and high. It has at most most marks.
func Durations(low, high float64, most int) Axis {
	from, found := slices.BinarySearch(marks, max(low/1.1, 1))
	if !found {
		from--
	}
	to, _ := slices.BinarySearch(marks, 1.1*max(high, 1))
	a := Axis{Low: marks[from], High: marks[to], Logarithmic: true}
	for every := 1; ; every += 3 - every%3 { // all marks, or one for each decade, for each second decade, …
		a.Ticks = nil
		for i := from; i <= to; i++ {
			if i%every == 0 {
				a.Ticks = append(a.Ticks, Tick{marks[i], withoutZeros.Replace(text.Duration(marks[i]))})
			}
		}
		if len(a.Ticks) <= most {
			return a
		}
	}
}

// withoutZeros shortens the text of a mark.
var withoutZeros = strings.NewReplacer(".00 ", " ", ".0 ", " ")

// Amounts returns an axis from 0 that has room for the value high. label writes
// the marks.
func Amounts(high float64, label func(float64) string) Axis {
	a := Axis{High: high}
	if high <= 0 {
		a.High = 1
	}
	step := math.Pow10(int(math.Floor(math.Log10(a.High))))
	step *= least([]float64{0.2, 0.25, 0.5, 1, 2}, a.High/step/5)
	for v := 0.0; v <= a.High*1.0001; v += step {
		a.Ticks = append(a.Ticks, Tick{v, label(v)})
	}
	a.High *= 1.05
	return a
}

// steps are the distances that marks of time may have, in seconds.
var steps = []float64{
	1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600,
	day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 182 * day, 365 * day, 730 * day, 3650 * day, 18250 * day, 36500 * day,
}

const day = 24 * 3600.0

// least returns the first of some ascending values that is not below a limit, or
// else the last one.
func least(values []float64, limit float64) float64 {
	i, _ := slices.BinarySearch(values, limit)
	return values[min(i, len(values)-1)]
}

// Times returns an axis of time, in seconds since 1970. It has roughly most
// marks.
func Times(low, high float64, most int) Axis {
	a := Axis{Low: low, High: max(high, low+1e-3), Label: "time (UTC)"}
	step := least(steps, (high-low)/float64(most))
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		at := time.Unix(int64(v), 0).UTC()
		layout := "15:04:05"
		switch {
		case high-low >= 300*day:
			layout = "Jan 2006"
		case math.Mod(v, day) == 0:
			layout = "2 Jan"
		case step >= 60:
			layout = "15:04"
		}
		a.Ticks = append(a.Ticks, Tick{v, at.Format(layout)})
	}
	return a
}
