// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds what changed from one report to another: the outcomes of
// decisions, and the times of stages. It says by how much, and whether the
// difference is more than noise.
//
// # Method
//
// Package contrast tests each change, and counts slices of time, not decisions.
//
// A quantile or a share has changed if its interval does not contain 0. A report
// of 500 paths has thousands of intervals, and if all had to be right at once,
// each would be too wide to find anything. So the package controls the false
// discovery rate (Benjamini and Hochberg 1995) of outcomes and times together:
// on average, at most 5 % of the changes that it finds are noise. If nothing has
// changed, all that it finds is noise. So at most 5 % of the comparisons then
// find a change. The more changes it finds, the narrower are the intervals
// (Benjamini and Yekutieli 2005). Half of the error is shared equally, and half
// in proportion to the decisions or durations (Genovese, Roeder and Wasserman
// 2006). So a busy path is found among many idle ones. Fewer rows
// have narrower intervals.
//
// Without a change, an outcome is judged only if its interval stays within 10
// points. So whoever reads that decisions did not change knows that no share
// did so by more.
//
// The package interpolates quantiles within the buckets of the histograms,
// evenly on the logarithmic scale. Otherwise a step from one bucket to the next
// would look like a change. The quantiles differ from the report's by at most
// the width of a bucket, which is 2.2 % unless the histogram became coarser.
//
// # What it can and cannot see
//
// TestFalseAlarms and TestPower compare simulated logs of 10 paths with 4
// stages each. They print how often a whole comparison raises a false alarm,
// and how often it sees a change:
//
//	REGOMETER_COMPARISONS=500 go test -v -timeout 5h -run 'FalseAlarms|Power' ./cmd/regometer/internal/compare
//
// The levels of the minutes vary by up to 39 % and depend on one another, and two
// thirds of the logs have bursts of latency and errors. About one comparison in
// forty without a change raises a false alarm. If all noise lasts ten minutes, an
// hour is short: with an hour on a side, it is about one in ten. With 60 slices
// on each side and about 200 decisions in a slice, a change of +20 % in one of 40
// stages, and of a share from 20 to 25 %, is nearly always seen if levels vary by
// 3 %, and in less than half of the comparisons if they vary by 20 %. Where
// bursts decide the p99, it does not show such a change.
//
// A change in the middle of a side makes slices differ, and so widens the
// interval: of a path that falls from 85 % to 37 % allowed half-way through an
// hour, the package says that there is too little data.
//
// The claim is about noise that comes and goes within the time that a report
// spans. The log of a quiet night differs from that of a busy noon, and the
// comparison says so.
//
// # References
//
//   - Y. Benjamini, Y. Hochberg: Controlling the false discovery rate. Journal
//     of the Royal Statistical Society B 57 (1995).
//   - Y. Benjamini, D. Yekutieli: False discovery rate-adjusted multiple
//     confidence intervals for selected parameters. Journal of the American
//     Statistical Association 100 (2005).
//   - C. R. Genovese, K. Roeder, L. Wasserman: False discovery control with
//     p-value weighting. Biometrika 93 (2006).
package compare
