// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/regometer/regometer/internal/groupby"
)

// seasonReport returns a report of two revisions. Evaluation becomes slower
// from slice to slice, and not at the change of the revision.
func seasonReport() *Report {
	r := revisionReport(40, 40, 100*us, 160*us)
	for i := range r.Total.Slices {
		r.Total.Slices[i].Stages = []groupby.Stage{stageOf(evaluationStage, same(20, 100*us+time.Duration(i)*us)...)}
	}
	return r
}

// A slice with decisions of two revisions counts for neither.
func TestEvaluationsOf(t *testing.T) {
	r := revisionReport(3, 4, 100*us, 160*us)
	for inside, want := range map[int64]int{0: 3, 1: 3, r.Width - 1: 3, r.Width: 4} {
		change := r.Revisions[1].First + inside
		before, after := evaluationsOf(r.Total.Slices, started, change-r.Width+1), evaluationsOf(r.Total.Slices, change, r.Total.Slices[6].Begin+1)
		if rest := 7 - want - len(after); len(before) != want || rest != 0 && rest != 1 || rest == 1 != (inside%r.Width > 0) {
			t.Errorf("%d ns inside: %d before, %d after", inside, len(before), len(after))
		}
	}
}
