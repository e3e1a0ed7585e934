// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"math"
	"slices"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// MaxExact limits the durations that are kept for Options.Exact.
const MaxExact = 16_000_000

var maxExact int64 = MaxExact // less in a test

// errTooManyExact is the error of Read if there are more.
var errTooManyExact = errors.New("there are more than 16,000,000 durations, too many to sort: read less, or leave out --exact")

// exactDurations are the durations of each stage of each key, or nil.
type exactDurations map[string]map[string][]int64

// addExact adds the durations of a decision that is in the groups. stages are
// the names of the timers, by number. It returns the number of durations.
func (x *Data) addExact(key []byte, measures []decisionlog.Measure, stages []string) (n int64) {
	of := x.exact[string(key)]
	if of == nil {
		of = map[string][]int64{}
		x.exact[string(key)] = of
	}
	for _, m := range measures {
		name := stages[m.Metric]
		if name == "" || m.Value == 0 {
			continue
		}
		if !x.groups.HasRoom(m.Metric) {
			name = rollup.Other
		}
		of[name] = append(of[name], m.Value)
		n++
	}
	return n
}

func (x exactDurations) merge(o exactDurations) {
	for key, stages := range o {
		of := x[key]
		if of == nil {
			x[key] = stages
			continue
		}
		for name, durations := range stages {
			of[name] = append(of[name], durations...)
		}
	}
}

// sorted sorts the durations. It moves those of keys without a group to group
// Other, and those of stages that a group lacks to stage Other.
func (x exactDurations) sorted(groups *groupby.Groups) {
	other := exactDurations{}
	for key, stages := range x {
		if !groups.Has(key) {
			other.merge(exactDurations{rollup.Other: stages})
			delete(x, key)
		}
	}
	x.merge(other)
	for g := range groups.Sums() {
		of := x[g.Key]
		for name, durations := range of {
			if stage(g.Stages, name).Name == "" {
				delete(of, name)
				of[rollup.Other] = append(of[rollup.Other], durations...)
			}
		}
	}
	for _, stages := range x {
		for _, durations := range stages {
			slices.Sort(durations)
		}
	}
}

// sortedDurations are a distribution.
type sortedDurations []int64

func (s sortedDurations) Count() uint64 { return uint64(len(s)) }
func (s sortedDurations) Min() int64    { return s[0] }
func (s sortedDurations) Max() int64    { return s[len(s)-1] }

// AppendQuantiles appends quantiles by nearest rank.
func (s sortedDurations) AppendQuantiles(dst []float64, qs ...float64) []float64 {
	for _, q := range qs {
		rank := int(math.Ceil(q * float64(len(s))))
		dst = append(dst, float64(s[max(rank, 1)-1]))
	}
	return dst
}
