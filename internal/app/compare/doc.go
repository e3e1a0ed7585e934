// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare finds the stages that became slower or faster from one report
// to another, by how much, and whether the difference is more than noise.
//
// # Method
//
// The latencies of a minute are alike: they share the load, the neighbours and
// the garbage collections of that minute, and often those of the next. So a
// thousand decisions of one minute say far less about the difference of two
// days than single decisions of a thousand minutes. So the package counts not
// decisions but the slices of time of the reports.
//
// The q-quantile of a stage has grown by the factor r if as many durations are
// above some x before as are above r·x after, a share of 1−q over both sides.
// Each r is tested by the difference of these two shares, and the confidence
// interval consists of the r that are not rejected: the interval of Woodruff
// (1952) for one quantile in samples of clusters, with the two-sample test of
// Kosorok (1999). The variance of a share is that of a sum over slices, each of
// which contributes by how many more of its durations are above x than the
// share of its side. It is the long-run variance, which holds for sums whose
// terms depend on their neighbours: the equal-weighted cosine estimator, with
// Student's t, which Lazarus, Lewis, Stock and Watson (2018) recommend. A side
// of n slices has ½·n^⅔ cosines, and the test as many degrees of freedom as the
// side of fewer. The variance is never taken to be less than that of
// independent decisions.
//
// This method was chosen by simulation. A delete-a-group jackknife and a
// moving-block bootstrap of p99 (Künsch 1989) raised false alarms in a quarter
// of comparisons and more, for where two bursts make up a p99, it varies little
// without one of them. So did a t-test on the blocks' log-quantiles
// (Ibragimov and Müller 2010) in a fifth where one side has a tenth of the
// decisions, since few decisions bias a block's p99; and with the recommended
// 0.4·n^⅔ cosines and Welch's degrees of freedom, this method in 8 % of those
// of 8 to 20 slices.
//
// Bonferroni's correction makes the intervals simultaneous: each has the
// confidence 1 − (1−c)/m, where m is the number of intervals. A quantile is
// said to be slower or faster where its interval leaves out no change. So the
// claim is about the whole comparison: of comparisons of like with like, at
// most 1−c, which is 5 %, have any row that says so. Fewer rows
// (Options.Stages) have narrower intervals.
//
// Quantiles are interpolated within the buckets of the histograms, evenly on
// the logarithmic scale, so that the step from one bucket to the next is not
// taken for a change. They differ from the report's by no more than the width
// of a bucket, 2.2 % where it has not been made coarser.
//
// # What it can and cannot see
//
// TestFalseAlarms and TestPower print how often whole comparisons of simulated
// logs, 10 paths of 4 stages each, raise a false alarm, and how often a change
// is seen:
//
//	REGOMETER_COMPARISONS=500 go test -v -run 'FalseAlarms|Power' ./internal/app/compare
//
// Of 500 comparisons of like with like, of 30 to 240 slices a side, 6 raised
// one: 1.2 %, with a 95 % interval of 0.6 to 2.6 %. There the level of a minute
// varied by 11 to 39 % (standard deviation of its logarithm), with a
// correlation of 0 to 0.9 from one minute to the next; two thirds had bursts of
// 5 times the latency, of 3 to 7 minutes each on the mean.
//
// A change of +20 % in one of the 40 rows, of about 200 decisions a slice, was
// seen in this share of the comparisons:
//
//	levels of minutes vary by    slices    p50     p99
//	3 %                              60    100 %   54 %
//	10 %                             60     49 %   15 %
//	10 %                            240    100 %   95 %
//	20 %                            240     41 %   23 %
//	10 %, and bursts                240     57 %    0 %
//
// The correlation was 0.5, and 0.7 where levels vary by 20 %. The bursts made
// up 4 % of the time, and so they, not the change, decided p99.
//
// The claim is about noise that comes and goes within the time that a report
// spans. A log of a quiet night and one of a busy noon do differ, and that is
// the comparison will say so.
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
package compare
