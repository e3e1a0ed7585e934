// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// errorsRose compares each run of slices of time with all slices before it, and
// reports the run that differs most.
//
// It is for reports without a sample. A scan names the subject, too.
func errorsRose(r *Report) string {
	if r.hasSample {
		return ""
	}
	times := timed(r.Total.Slices)
	sums := []errorTally{{}} // of the slices before each
	for _, s := range times {
		sums = append(sums, sums[len(sums)-1].plus(slicesTally(s)))
	}
	from, to, score := 0, 0, 0.0
	for i := errorsSlices; i < len(times); i++ {
		before := sums[i]
		for j := i + 1; j <= len(times); j++ {
			run := sums[j].minus(before)
			if before.decisions < errorsBefore || run.decisions < errorsAfter || run.errors < errorsLeast ||
				run.rate() < errorsTimes*before.rate() || run.rate() < errorsPoints+before.rate() {
				continue
			}
			if s := scoreOf(before, run); s > score {
				from, to, score = i, j, s
			}
		}
	}
	if score == 0 {
		return ""
	}
	before, run := sums[from], sums[to].minus(sums[from])
	noise := dispersion(times[:from], before) + dispersion(times[from:to], run)
	noise = math.Sqrt(max(1, noise/float64(to-2)))
	if score < errorsScore*noise {
		return ""
	}
	return fmt.Sprintf("From %s to %s UTC, %s of %s decisions failed (%s). Before that, %s of %s had failed (%s).%s "+
		"Find out what changed at that time, with `--since`, `--until` and `--by bundle`.",
		text.Time(times[from].Begin, text.ToTheSecond), text.Time(times[to-1].Begin+r.Width, text.ToTheSecond),
		text.Count(run.errors), text.Count(run.decisions), text.Percent(run.rate()),
		text.Count(before.errors), text.Count(before.decisions), text.Percent(before.rate()), commonest(r.Total.Errors))
}

// commonest returns a sentence about the most frequent error code, or "".
func commonest(errors []rollup.ErrorTotal) string {
	if len(errors) == 0 {
		return ""
	}
	most := slices.MaxFunc(errors, func(a, b rollup.ErrorTotal) int { return cmp.Compare(a.Total, b.Total) })
	return fmt.Sprintf(" The most frequent error of the log is %s (%s).", name(most.Code), text.Count(most.Total))
}

// timed returns the slices that have a time.
func timed(all []groupby.Slice) []groupby.Slice {
	if len(all) > 0 && all[0].Begin == decisionlog.NoTime {
		return all[1:]
	}
	return all
}

// errorTally counts decisions and errors.
type errorTally struct{ decisions, errors uint64 }

func slicesTally(s groupby.Slice) (t errorTally) {
	for _, n := range s.Outcomes {
		t.decisions += n
	}
	t.errors = s.Outcomes[rollup.Error]
	return t
}

func (t errorTally) plus(o errorTally) errorTally {
	return errorTally{t.decisions + o.decisions, t.errors + o.errors}
}
func (t errorTally) minus(o errorTally) errorTally {
	return errorTally{t.decisions - o.decisions, t.errors - o.errors}
}
func (t errorTally) rate() float64 { return Ratio(t.errors, t.decisions) }

// scoreOf returns the difference of two rates in standard errors, as if
// decisions failed independently of one another.
func scoreOf(a, b errorTally) float64 {
	p := a.plus(b).rate()
	variance := p * (1 - p) * (1/float64(a.decisions) + 1/float64(b.decisions))
	if variance == 0 {
		return 0
	}
	return (b.rate() - a.rate()) / math.Sqrt(variance)
}

// dispersion returns the chi-squared statistic of slices with one rate. If
// decisions fail independently, it is about the number of slices minus one.
func dispersion(parts []groupby.Slice, all errorTally) (chi2 float64) {
	p := all.rate()
	if p == 0 || p == 1 {
		return 0
	}
	for _, s := range parts {
		t := slicesTally(s)
		if t.decisions > 0 {
			n := float64(t.decisions)
			chi2 += math.Pow(float64(t.errors)-n*p, 2) / (n * p * (1 - p))
		}
	}
	return chi2
}

// revisionSlower compares each revision with the one before it, and reports the
// revision that is slower by the largest factor.
func revisionSlower(r *Report) string {
	if len(r.Revisions) < 2 || r.slowerElsewhere() {
		return ""
	}
	medians := sliceMedians(r)
	worst, factor, found := 0, 0.0, 0
	for i := 1; i < len(r.Revisions); i++ {
		a, b := &r.Revisions[i-1], &r.Revisions[i]
		was, is := a.Evaluation.Durations.Quantile(0.5), b.Evaluation.Durations.Quantile(0.5)
		if a.First == decisionlog.NoTime || min(a.Evaluation.Durations.Count(), b.Evaluation.Durations.Count()) < revisionCount ||
			is < revisionTimes*was || is-was < float64(revisionMore) {
			continue
		}
		end := b.Last + 1
		if i+1 < len(r.Revisions) {
			end = min(end, r.Revisions[i+1].First)
		}
		// A slice with decisions of both revisions counts for neither.
		before := between(medians, a.First-r.Width+1, b.First-r.Width+1)
		after := between(medians, b.First, end)
		if len(before) < revisionParts || len(after) < revisionParts ||
			nearest(after, 0.25) <= nearest(before, 0.9) {
			continue
		}
		if found++; is/was > factor {
			worst, factor = i, is/was
		}
	}
	if found == 0 {
		return ""
	}
	a, b := &r.Revisions[worst-1], &r.Revisions[worst]
	was, is := quantiles(&a.Evaluation.Durations), quantiles(&b.Evaluation.Durations)
	finding := fmt.Sprintf("Evaluation became slower with bundle revision %s, at %s UTC. Its median rose from %s to %s, and its p99 from %s to %s "+
		"(%s and %s evaluations).",
		name(b.Name), text.Time(b.First, text.ToTheSecond),
		text.Duration(float64(was[p50])), text.Duration(float64(is[p50])), text.Duration(float64(was[p99])), text.Duration(float64(is[p99])),
		text.Count(a.Evaluation.Durations.Count()), text.Count(b.Evaluation.Durations.Count()))
	if found > 1 {
		finding += fmt.Sprintf(" It also became slower with %s.", text.Plural(found-1, "other revision"))
	}
	return finding + fmt.Sprintf(" Unless the requests changed too, go back to revision %s, and find out with `opa eval --profile` what the change made slower.",
		name(a.Name))
}

// median is the median of the evaluations in a slice of time.
type median struct {
	begin int64
	ns    float64
}

func sliceMedians(r *Report) []median {
	var found []median
	for _, s := range timed(r.Slices()) {
		if d := stage(s.Stages, evaluationStage).Durations; d.Count() >= partCount {
			found = append(found, median{s.Begin, d.Quantile(0.5)})
		}
	}
	return found
}

// between returns the medians of the slices that begin at from or later, and
// before to. It sorts them.
func between(medians []median, from, to int64) []float64 {
	var found []float64
	for _, m := range medians {
		if m.begin >= from && m.begin < to {
			found = append(found, m.ns)
		}
	}
	slices.Sort(found)
	return found
}

// nearest returns the quantile of sorted values at nearest rank, 0 < q ≤ 1.
func nearest(sorted []float64, q float64) float64 {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}
