// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// durations are those of the evaluations of one side, by path.
type durations struct {
	*groupby.Groups
	metric int32
	n      int64
}

func newDurations() durations {
	g := groupby.New(groupby.Limits{Groups: maxPaths, Cells: 4 * maxPaths})
	return durations{Groups: g, metric: g.Metric([]byte(evaluation))}
}

// perSlice is the number of evaluations in a slice of time. A comparison needs
// slices. It takes those of the replay, because both sides take turns in it.
const perSlice, mostSlices = 16, 120

func (d *durations) add(path string, took time.Duration) {
	if took <= 0 {
		return
	}
	slice := d.n / perSlice % mostSlices
	d.n++
	d.Add([]byte(path), slice*int64(time.Minute), outcome.Neither, "", []logread.Measure{{Metric: d.metric, Value: int64(took)}})
}

// Quantiles are those of durations, in ns.
type Quantiles struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

func quantilesOf(s *exphist.Snapshot) Quantiles { return Quantiles{s.Quantile(0.5), s.Quantile(0.99)} }

func (d *durations) quantiles(path string) (q Quantiles) {
	if g := d.Get(path, false, nil); g != nil && len(g.Stages) > 0 {
		q = quantilesOf(&g.Stages[0].Durations)
	}
	return q
}

// report returns the durations as a report with only the times of these paths.
func (d *durations) report(paths []*Path) *report.Report {
	var groups []report.Group
	for _, p := range paths {
		if g := d.Get(p.Path, true, nil); g != nil {
			g.Decisions = p.Decisions
			groups = append(groups, *g)
		}
	}
	return &report.Report{By: "path", Groups: report.GroupsOf(groups...)}
}
