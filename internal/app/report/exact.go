// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"math"
	"slices"

	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/rollup"
)

// maxExact limits the durations that are kept for Options.Exact. A test lowers
// it.
var maxExact int64 = 16_000_000

// errTooManyExact is the error of Read if there are more than maxExact
// durations.
var errTooManyExact = errors.New("there are more than 16,000,000 durations, too many to sort: read less, or leave out --exact")

// exactDurations are the durations of each stage of each key, or nil.
type exactDurations map[string]map[string][]int64

// addExact adds the durations of a decision that is in the groups. stages has
// the names of the timers, by number. It returns the number of durations.
func (x *Data) addExact(key []byte, measures []logread.Measure, stages []string) (n int64) {
	of := x.exact[string(key)]
	if of == nil {
		of = x.exact.of(string(key))
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
		of := x.of(key)
		for name, durations := range stages {
			of[name] = append(of[name], durations...)
		}
	}
}

// of returns the durations of a key, to read or to add to.
func (x exactDurations) of(key string) map[string][]int64 {
	if x[key] == nil {
		x[key] = map[string][]int64{}
	}
	return x[key]
}

// sort sorts the durations. It moves those of keys without a group to group
// Other, and those of stages that a group lacks to stage Other.
func (x exactDurations) sort(groups *groupby.Groups) {
	if x == nil {
		return
	}
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

// exactQuantiles returns the quantiles of sorted durations, by nearest rank.
func exactQuantiles(sorted []int64) (q [len(ranks)]int64) {
	for i, rank := range ranks {
		q[i] = sorted[int(math.Ceil(rank*float64(len(sorted))))-1]
	}
	return q
}
