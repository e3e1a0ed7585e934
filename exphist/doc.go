// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package exphist provides a histogram of integers. In the exported unit, its
// base-2 exponential buckets are those of Prometheus native histograms and of
// OpenTelemetry exponential histograms.
//
// # Buckets
//
// A recorded integer n stands for n·u of the exported unit. If nanoseconds are
// exported as seconds, u is 10⁻⁹. With schema s, bucket i holds each n with
//
//	2^((i−1)/2^s) < n·u ≤ 2^(i/2^s)
//
// Integer arithmetic decides this, without rounding. The numbers i are those of
// Prometheus. OpenTelemetry's index is i−1. Zeros have their own bucket.
// Negative values are only counted.
//
// A histogram's buckets span the values from the smallest positive value to the
// largest. While they need more than Layout.MaxBuckets buckets, the histogram
// reduces its schema by one, which makes one bucket of two. The schema never
// rises again. It depends only on the range of the values, not on their order.
// So histograms can be merged in any order.
//
// # Explicit bounds
//
// [Layout.Bounds] holds up to 100 more bounds, which can be any positive
// integers. [Snapshot.CountAtMost] returns the exact number of values up to
// each bound, whatever the schema is. It counts the same recordings as the rest
// of the snapshot. Only histograms with equal bounds can be merged. After a
// change of bounds, [Snapshot.Rebound] discards the old counts.
//
// # Sums and counts
//
// Sums are exact and have 128 bits. Counts are modulo 2^64. A sum does not
// overflow before its count does.
//
// # Saving
//
// A [Content] holds the numbers of a snapshot. [Snapshot.Restore] checks a
// saved Content and makes a snapshot from it.
//
// # Performance considerations
//
// Each histogram has a mutex, which a recording holds for some nanoseconds, and
// a snapshot for about a nanosecond for each bucket. The counters of a
// histogram have one byte or more, as many as the largest count needs.
//
// To avoid allocations, keep the Snapshot, because the next call of
// Histogram.Snapshot uses its memory again. Take all quantiles with one call of
// AppendQuantiles.
//
// The memory of a histogram grows with the range of its values. With the
// default layout, it is at most 1 KB after 10,000 log-normal latencies of any
// spread, even with a dozen explicit bounds. It never exceeds 6 KB. In any
// layout, it is at most a little more than a word for each of MaxBuckets and for
// each bound. All histograms of a unit and a schema share a table with 8
// bytes for each possible bucket of an int64. The table takes 17 KB for schema
// 5 and 133 KB for schema 8. The first histogram makes it.
//
// Before 1.0, names may change. Exact counts and sums stay, and quantiles within
// 1.1 %.
package exphist
