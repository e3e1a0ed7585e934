// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// The sides of the durations of evaluations: the log, the replay, and the replay
// with the other policy. Each side has a group for each path.
const (
	inLog    = "l "
	inReplay = "r "
	inOther  = "o "
)

// perSlice is the number of decisions in a slice of time. A comparison needs
// slices. It takes those of the replay, because both sides take turns in it.
const perSlice, mostSlices = 16, 120

// addTime adds the duration of the latest decision on a side.
func (r *Report) addTime(side, path string, took int64) {
	slice := int64(r.Decisions / perSlice % mostSlices)
	r.times.Add([]byte(side+path), slice*int64(time.Minute), outcome.Neither, "", []logread.Measure{{Metric: r.times.Metric([]byte(evaluation)), Value: took}})
}

// Quantiles are those of durations, in ns, or 0 without durations.
type Quantiles struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

func quantilesOf(s *exphist.Snapshot) (q Quantiles) {
	if s.Count() > 0 {
		q = Quantiles{s.Quantile(0.5), s.Quantile(0.99)}
	}
	return q
}

func (r *Report) quantiles(side, path string) (q Quantiles) {
	if g := r.times.Get(side+path, false, nil); g != nil {
		q = quantilesOf(&g.Stages[0].Durations)
	}
	return q
}

// sideOf returns the durations of a side as a report, which has no outcomes.
func (r *Report) sideOf(side string) *report.Report {
	var groups []report.Group
	for _, p := range r.Paths {
		if g := r.times.Get(side+p.Path, true, nil); g != nil {
			g.Key, g.Outcomes = p.Path, [6]uint64{}
			groups = append(groups, *g)
		}
	}
	return &report.Report{By: "path", Groups: report.GroupsOf(groups...)}
}
