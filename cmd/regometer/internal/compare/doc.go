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
// Of 500 comparisons without a change, with 30 to 240 slices on each side, 12
// raised a false alarm, three of them of an outcome. This is 2.4 %, with a 95 %
// interval of 1.4 to 4.1 %. The level of a minute varied by 11 to 39 % (standard
// deviation of its logarithm), with a correlation of 0 to 0.9 from one minute to
// the next. The share denied was 0.05 to 97 %, and its log odds varied by up to
// 0.6. Two thirds had bursts of 5 times the latency and 10 % errors, of 3 to 7
// minutes on average.
//
// A change of +20 % in one of the 40 stages, and of the share denied in one of
// the paths from 20 to 25 %, with about 200 decisions in a slice, was seen in so
// many of 30 comparisons:
//
//	levels vary by      log odds by    slices    p50    p99    denied
//	3 %                        0.1         60     30     28        30
//	10 %                       0.3         60     20     14         8
//	10 %                       0.3        240     30     30        29
//	20 %                       0.6        240     15     13         4
//	10 %, and bursts           0.3        240     23      0        28
//
// The test also plants them in one of 500 paths, with 9,760 decisions on each
// side. With levels that vary by 3 %, the p50 was seen in 29 of 30 comparisons,
// and the share denied in 7 of 30 with 60 slices in which all paths have as many
// decisions. With 33 slices in which the others have ever fewer, these were 29
// and 14 of 30.
//
// The correlation was 0.5, and 0.7 where levels vary by 20 %. The bursts made
// up 4 % of the time, so they decided p99, and not the change. Of the 210
// comparisons of like with like in this test, 3 raised an alarm.
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
