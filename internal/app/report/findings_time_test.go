// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/regometer/regometer/internal/groupby"
)

// seasonReport returns a report of two revisions. Evaluation becomes slower
// from slice to slice, and not at the change of the revision.
func seasonReport() *Report {
	r := revisionReport(40, 40, 100*us, 160*us)
	for i := range r.Total.Slices {
		r.Total.Slices[i].Stages = []groupby.Stage{stageOf(evaluationStage, same(partCount, 100*us+time.Duration(i)*us)...)}
	}
	return r
}

// sharedSlice returns a report of two revisions. The second one begins in slice
// number whole, after some time, and the slice has one median.
func sharedSlice(whole, after int, inside time.Duration, median time.Duration) *Report {
	r := revisionReport(whole+1, after, 100*us, 160*us)
	shared := &r.Total.Slices[whole]
	r.Revisions[1].First = shared.Begin + int64(inside)
	shared.Stages = []groupby.Stage{stageOf(evaluationStage, same(partCount, median)...)}
	return r
}
