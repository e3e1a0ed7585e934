// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds the stages that became slower or faster from one report
// to another. It says by how much, and whether the difference is more than
// noise.
//
// # Method
//
// Package contrast tests each change, and counts slices of time, not decisions.
//
// A quantile is slower or faster if its interval does not contain 0. A report
// of 500 paths has thousands of intervals, and if all had to be right at once,
// each would be too wide to find anything. So the package controls the false
// discovery rate (Benjamini and Hochberg 1995): on average, at most 5 % of the
// changes that it finds are noise. If nothing has changed, all that it finds is
// noise. So at most 5 % of the comparisons then have a row that is slower or
// faster. The more changes it finds, the narrower are the intervals (Benjamini
// and Yekutieli 2005). Half of the error is shared equally, and half in
// proportion to the durations (Genovese, Roeder and Wasserman 2006). So a busy
// path is found among many idle ones. Fewer rows (Options.Stages) have narrower
// intervals.
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
//	REGOMETER_COMPARISONS=500 go test -v -run 'FalseAlarms|Power' ./internal/app/compare
//
// Of 500 comparisons without a change, with 30 to 240 slices on each side, 11
// raised a false alarm. This is 2.2 %, with a 95 % interval of 1.2 to 3.9 %.
// The level of a minute varied by 11 to 39 % (standard deviation of its
// logarithm), with a correlation of 0 to 0.9 from one minute to the next. Two
// thirds had bursts of 5 times the latency, of 3 to 7 minutes on average.
//
// A change of +20 % in one of the 40 rows, with about 200 decisions in a slice,
// was seen in this share of 100 comparisons:
//
//	levels of minutes vary by    slices    p50     p99
//	3 %                              60    100 %   90 %
//	10 %                             60     67 %   43 %
//	10 %                            240    100 %   99 %
//	20 %                            240     55 %   39 %
//	10 %, and bursts                240     65 %    1 %
//
// The test also plants it in one of 500 paths, with 9,760 decisions on each
// side. With levels that vary by 3 %, it was seen in 59 of 60 comparisons of 60
// slices in which all paths have as many decisions, and in 60 of 60 of 33
// slices in which the others have ever fewer. No comparison of like with like
// raised an alarm.
//
// The correlation was 0.5, and 0.7 where levels vary by 20 %. The bursts made
// up 4 % of the time, so they decided p99, and not the change.
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
