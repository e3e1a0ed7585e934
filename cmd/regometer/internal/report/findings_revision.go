// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file compares the evaluations of bundle revisions.

import (
	"fmt"
	"math"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

const (
	revisionCount = 500                   // evaluations of each revision
	revisionTimes = 1.2                   // the median divided by the median before
	revisionNear  = 10                    // slices of each revision that are nearest to the change
	revisionStep  = 0.5                   // the change of their median, in parts of the change of the whole median
	revisionMore  = 20 * time.Microsecond // the median minus the median before
)

// revisionSlower compares each revision with the one before it, and reports the
// revision that is slower by the largest factor, and its begin.
func revisionSlower(r *Report) (f Finding, begin int64) {
	if len(r.Revisions) < 2 {
		return f, 0
	}
	parts := timed(r.Slices())
	factor := 0.0
	for i := range r.Revisions[1:] {
		a, b := &r.Revisions[i], &r.Revisions[i+1]
		n, was, is := b.Evaluation.Durations.Count(), a.Evaluation.Durations.Quantile(0.5), b.Evaluation.Durations.Quantile(0.5)
		if a.First == logread.NoTime || min(a.Evaluation.Durations.Count(), n) < revisionCount ||
			is < max(revisionTimes, factor)*was || is-was < float64(revisionMore) {
			continue
		}
		end := b.Last + 1
		if i+2 < len(r.Revisions) {
			end = min(end, r.Revisions[i+2].First)
		}
		// A slice with decisions of both revisions counts for neither.
		before, after := evaluationsOf(parts, a.First-r.Width+1, b.First-r.Width+1), evaluationsOf(parts, b.First, end)
		if min(len(before), len(after)) < contrast.MinSlices || medianOf(before, after).Low <= 0 {
			continue
		}
		// A daily season changes the medians too, but not in a step.
		near := medianOf(before[max(0, len(before)-revisionNear):], after[:min(len(after), revisionNear)])
		if near.After < near.Before*(1+(is/was-1)*revisionStep) {
			continue
		}
		factor, begin = is/was, b.First
		f.Rule, f.Revision = "revision_slower", b.Name
		f.Figures = map[string]float64{"factor": factor, "median_ns": math.Round(is), "median_outside_ns": math.Round(was), "decisions": float64(n)}
		f.setTimes(b.First, b.Last)
		f.Text = fmt.Sprintf("Evaluation became slower with bundle revision %s, at %s UTC. Its median rose from %s to %s (%s evaluations). "+
			"Unless the requests changed too, go back to revision %s, and find out with `regometer replay --against` what the change made slower.",
			name(b.Name), at(b.First), text.Duration(was), text.Duration(is), text.Count(n), name(a.Name))
	}
	if f.Rule != "" {
		r.suggest(&f, "bundle", nil, time.Time{}, time.Time{})
	}
	return f, begin
}

// evaluationsOf returns the evaluations in each of the slices that begin at from
// or later, and before to.
func evaluationsOf(parts []groupby.Slice, from, to int64) (found []*exphist.Snapshot) {
	for _, s := range parts {
		if d := &Stage(s.Stages, evaluationStage).Durations; s.Begin >= from && s.Begin < to && d.Count() > 0 {
			found = append(found, d)
		}
	}
	return found
}

// medianOf compares the medians. If they cannot be compared, it finds no change.
func medianOf(before, after []*exphist.Snapshot) (d contrast.Difference) {
	if x := contrast.NewQuantiles(before, after); x != nil {
		d = x.Compare(0.5, contrast.Error/scanTests)
	}
	return d
}
