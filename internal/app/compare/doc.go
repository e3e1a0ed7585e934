// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds the stages that became slower or faster from one report
// to another. It says by how much, and whether the difference is more than
// noise.
//
// # Method
//
// Latencies within a minute resemble one another, because they share the load,
// the neighbours and the garbage collections of that minute, and often those of
// the next. A thousand decisions of one minute therefore say far less about the
// difference between two days than one decision from each of a thousand
// minutes. So the package counts slices of time of the reports, not decisions.
//
// The q-quantile of a stage has grown by the factor r if two shares are equal:
// the share of the durations before that are above some x, and the share of the
// durations after that are above r·x. x is chosen so that the share of both
// sides together is 1−q. The package tests each r by the difference of the two
// shares. The confidence interval consists of the r that the test does not
// reject. It combines the interval of Woodruff (1952), for one quantile in
// samples of clusters, with the two-sample test of Kosorok (1999).
//
// The variance of a share is that of a sum over slices. Each slice contributes
// the number of its durations above x, minus the number that the share of its
// side predicts. Neighbouring slices depend on one another, so the package
// estimates the long-run variance. It uses the equal-weighted cosine estimator
// with Student's t, which Lazarus, Lewis, Stock and Watson (2018) recommend. A
// side of n slices has ½·n^⅔ cosines. The test has as many degrees of freedom
// as the side with fewer cosines. The variance is at least that of independent
// decisions.
//
// Simulation led to this method. Others raised too many false alarms:
//
//   - A delete-a-group jackknife and a moving-block bootstrap of p99 (Künsch
//     1989) raised one in a quarter of the comparisons or more. If two bursts
//     make up a p99, it varies little without one of them.
//   - A t-test on the blocks' log-quantiles (Ibragimov and Müller 2010) raised
//     one in a fifth of the comparisons in which one side has a tenth of the
//     decisions, because few decisions bias a block's p99.
//   - This method with the recommended 0.4·n^⅔ cosines and Welch's degrees of
//     freedom raised one in 8 % of the comparisons of 8 to 20 slices.
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
//   - R. S. Woodruff: Confidence intervals for medians and other position
//     measures. Journal of the American Statistical Association 47 (1952).
//   - M. R. Kosorok: Two-sample quantile tests under general conditions.
//     Biometrika 86 (1999).
//   - E. Lazarus, D. J. Lewis, J. H. Stock, M. W. Watson: HAR inference:
//     recommendations for practice. Journal of Business & Economic Statistics
//     36 (2018).
//   - H. R. Künsch: The jackknife and the bootstrap for general stationary
//     observations. Annals of Statistics 17 (1989).
//   - R. Ibragimov, U. K. Müller: t-statistic based correlation and
//     heterogeneity robust inference. Journal of Business & Economic Statistics
//     28 (2010).
//   - Y. Benjamini, Y. Hochberg: Controlling the false discovery rate. Journal
//     of the Royal Statistical Society B 57 (1995).
//   - Y. Benjamini, D. Yekutieli: False discovery rate-adjusted multiple
//     confidence intervals for selected parameters. Journal of the American
//     Statistical Association 100 (2005).
//   - C. R. Genovese, K. Roeder, L. Wasserman: False discovery control with
//     p-value weighting. Biometrika 93 (2006).
package compare
