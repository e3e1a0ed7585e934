// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

// commonest returns a sentence about the most frequent error code, or "".
func commonest(errors []stages.ErrorTotal) string {
	if len(errors) == 0 {
		return ""
	}
	most := slices.MaxFunc(errors, func(a, b stages.ErrorTotal) int { return cmp.Compare(a.Total, b.Total) })
	return fmt.Sprintf(" The most frequent error of the log is %s (%s).", name(most.Code), text.Count(most.Total))
}

// timed returns the slices that have a time.
func timed(all []groupby.Slice) []groupby.Slice {
	if len(all) > 0 && all[0].Begin == logread.NoTime {
		return all[1:]
	}
	return all
}

// wrapperTimes returns a text if too many times are those of wrappers, which
// may have been written much later. Rules by time are then silent.
func wrapperTimes(r *Report) string {
	_, wrapped := r.Inputs.problems(logread.WrapperTime)
	n, of := wrapped.Count, r.Inputs.Decisions+r.Inputs.Repeats.LeftOut-r.Inputs.Gaps.Time
	part := Ratio(uint64(n), uint64(max(n, of)))
	if part <= wrapperShare {
		return ""
	}
	return fmt.Sprintf("%s of %s decisions (%s) have no valid `timestamp`. Their times are those of the text around them, "+
		"which may have been written later. So rules do not compare times. "+
		"Find out what removes or changes the field `timestamp` between OPA and this log.",
		text.Count(n), text.Count(max(n, of)), text.Percent(part))
}

// revisionSlower compares each revision with the one before it, and reports the
// revision that is slower by the largest factor.
func revisionSlower(r *Report) (f Finding) {
	if len(r.Revisions) < 2 {
		return f
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
		factor = is / was
		f.Rule, f.Revision = "revision_slower", b.Name
		f.Figures = map[string]float64{"factor": factor, "median_ns": math.Round(is), "median_outside_ns": math.Round(was), "decisions": float64(n)}
		f.setTimes(b.First, b.Last)
		f.Text = fmt.Sprintf("Evaluation became slower with bundle revision %s, at %s UTC. Its median rose from %s to %s (%s evaluations). "+
			"Unless the requests changed too, go back to revision %s, and find out with `regometer replay --against` what the change made slower.",
			name(b.Name), at(b.First), text.Duration(was), text.Duration(is), text.Count(n), name(a.Name))
	}
	return f
}

// evaluationsOf returns the evaluations in each of the slices that begin at from
// or later, and before to.
func evaluationsOf(parts []groupby.Slice, from, to int64) (found []*exphist.Snapshot) {
	for _, s := range parts {
		if d := &stage(s.Stages, evaluationStage).Durations; s.Begin >= from && s.Begin < to && d.Count() > 0 {
			found = append(found, d)
		}
	}
	return found
}

// medianOf compares the medians. If they cannot be compared, it finds no change.
func medianOf(before, after []*exphist.Snapshot) (d contrast.Difference) {
	if x, err := contrast.NewQuantiles(before, after); err == nil && x != nil {
		d = x.Compare(0.5, contrast.Error/scanTests)
	}
	return d
}

// nearest returns the quantile of sorted values at nearest rank, 0 < q ≤ 1.
func nearest[T int64 | float64](sorted []T, q float64) T {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}
