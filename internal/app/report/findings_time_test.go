// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// A run of slices is said to have more errors if its rate differs from that
// before by five standard errors. These are as many times larger than those of
// independent decisions as slices of one rate differ more than theirs would:
// chi-squared by its degrees of freedom, which are two less than there are
// slices.
func TestErrorsRoseByNoise(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	spoken, silent := 0, 0
	for range 3000 {
		r := healthy()
		before, run := 3+random.IntN(4), 1+random.IntN(4)
		const n = 400
		spread := random.Float64() * 0.8
		for i := range before + run {
			rate := 0.05
			if i >= before {
				rate = 0.13
			}
			appendSlice(r, n, int(n*rate*(1+spread*(2*random.Float64()-1))))
		}
		count := func(from, to int) (decisions, errors float64) {
			for _, s := range r.Total.Slices[from:to] {
				decisions += n
				errors += float64(s.Outcomes[rollup.Error])
			}
			return decisions, errors
		}
		chi2 := func(from, to int) (sum float64) {
			decisions, errors := count(from, to)
			p := errors / decisions
			for i := from; i < to; i++ {
				_, e := count(i, i+1)
				sum += (e - n*p) * (e - n*p) / (n * p * (1 - p))
			}
			return sum
		}
		best, want := 0.0, ""
		for from := 3; from < before+run; from++ {
			for to := from + 1; to <= before+run; to++ {
				n0, e0 := count(0, from)
				n1, e1 := count(from, to)
				p := (e0 + e1) / (n0 + n1)
				score := (e1/n1 - e0/n0) / math.Sqrt(p*(1-p)*(1/n0+1/n1))
				if e1/n1 < 2*e0/n0 || e1/n1 < 0.01+e0/n0 || score <= best {
					continue
				}
				best, want = score, ""
				if score >= 5*math.Sqrt(max(1, (chi2(0, from)+chi2(from, to))/float64(to-2))) {
					want = fmt.Sprintf("%s of %s decisions failed", text.Count(uint64(e1)), text.Count(uint64(n1)))
				}
			}
		}
		got := textOf(r, "errors_rose")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Fatalf("got %q, want %q, of %v", got, want, r.Total.Slices)
		}
		if want != "" {
			spoken++
		} else {
			silent++
		}
	}
	if min(spoken, silent) < 300 {
		t.Errorf("%d reports have a finding, and %d have none", spoken, silent)
	}
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
