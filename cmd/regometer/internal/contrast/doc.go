// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package contrast compares two sets of decisions that come in slices of time:
// a share of the decisions ([Shares]), or the quantiles of their durations
// ([Quantiles]).
//
// Decisions of a minute resemble one another, because they share the load, the
// neighbours, the clients and the garbage collections of that minute, and often
// those of the next. A thousand decisions of one minute therefore say far less
// about the difference between two days than one decision from each of a
// thousand minutes. So the package counts slices of time, not decisions.
//
// # Shares
//
// The variance of a share is that of a sum over slices. Each slice contributes
// the number of its decisions that have something, minus the number that the
// share of its side predicts. Neighbouring slices depend on one another, so the
// package estimates the long-run variance. It uses the equal-weighted cosine
// estimator with Student's t, which Lazarus, Lewis, Stock and Watson (2018)
// recommend. A side of n slices has ½·n^⅔ cosines. The test has as many degrees
// of freedom as the side with fewer cosines. If runs of three slices are
// correlated, the cosines are too fast to show all of the variance. So the
// package corrects them by an autoregression (Andrews and Monahan 1992).
//
// Divided by the variance of independent decisions, this is the design effect,
// and at least 1. The package tests a change by the score test of Mee (1984),
// with the variances of independent decisions times the design effects, which
// makes effective sample sizes (Rao and Scott 1992). The confidence interval
// consists of the changes that the test does not reject. So it stays between
// −100 and 100 points, and has a width at 0 % and 100 %, where Newcombe (1998)
// compares such intervals.
//
// A side with fewer than ten decisions that have something, or lack it, does not
// show how they come together. So its design effect is at least what follows
// from the variance of a slice of both sides. Where both sides are at 0 %, or at
// 100 %, nothing shows it, and the decisions count as independent.
//
// # Parts of one log
//
// A part of a log may be a single slice, such as a burst of errors. [Parts]
// assumes that a slice of either part varies as much if nothing has changed. So
// it takes one design effect, and its degrees of freedom, from the slices of
// both parts, each in comparison with the share of its part. The slices are as
// fine as the caller likes: finer ones give more degrees of freedom.
//
// # Quantiles
//
// The q-quantile has grown by the factor r if two shares are equal: the share
// of the durations before that are above some x, and the share of the durations
// after that are above r·x. x is chosen so that the mean of the two shares is
// 1−q. The confidence interval consists of the r for which the test of the two
// shares does not reject that they are equal. It combines the interval of
// Woodruff (1952), for one quantile in samples of clusters, with the two-sample
// test of Kosorok (1999).
//
// Simulation led to this method. Others raised too many false alarms:
//
//   - A delete-a-group jackknife and a moving-block bootstrap of p99 (Künsch
//     1989) raised one in a quarter of the comparisons or more. If two bursts
//     make up a p99, it varies little without one of them.
//   - A t-test on the blocks' log-quantiles (Ibragimov and Müller 2010) raised
//     one in a fifth of the comparisons in which one side has a tenth of the
//     decisions, because few decisions bias a block's p99.
//   - The recommended 0.4·n^⅔ cosines with Welch's degrees of freedom raised one
//     in 8 % of the comparisons of 8 to 20 slices.
//
// The package interpolates quantiles within the buckets of the histograms,
// evenly on the logarithmic scale. Otherwise a step from one bucket to the next
// would look like a change.
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
//   - D. W. K. Andrews, J. C. Monahan: An improved heteroskedasticity and
//     autocorrelation consistent covariance matrix estimator. Econometrica 60
//     (1992).
//   - R. W. Mee: Confidence bounds for the difference between two probabilities.
//     Biometrics 40 (1984).
//   - J. N. K. Rao, A. J. Scott: A simple method for the analysis of clustered
//     binary data. Biometrics 48 (1992).
//   - R. G. Newcombe: Interval estimation for the difference between independent
//     proportions. Statistics in Medicine 17 (1998).
//   - H. R. Künsch: The jackknife and the bootstrap for general stationary
//     observations. Annals of Statistics 17 (1989).
//   - R. Ibragimov, U. K. Müller: t-statistic based correlation and
//     heterogeneity robust inference. Journal of Business & Economic Statistics
//     28 (2010).
package contrast
