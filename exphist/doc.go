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
// Layout.Bounds holds up to 100 more bounds, which can be any positive
// integers. Prometheus uses such bounds for classic buckets, and OpenTelemetry
// calls them explicit bounds. Snapshot.CountAtMost returns the exact number of
// values up to each bound, whatever the schema is. It counts the same
// recordings as the rest of the snapshot. Only histograms with equal bounds can
// be merged. After a change of bounds, Snapshot.Rebound discards the old
// counts.
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
// # How it works
//
// A bucket with many values has a packed word. Its upper bits count the values.
// Its lower bits add up the excess of each value over the bucket's lower bound.
// So recording is one atomic addition, and the count and the sum of a snapshot
// cover the same recordings. A word that is half full is emptied into wider
// counters. Until a bucket has 96 values, a counter of one byte or more counts
// them under a lock. In buckets wider than 2^29, such counters count all
// values. At schema 5, these are nanoseconds above 24 s.
//
// A bucket that explicit bounds cut has a packed word for each part, so
// recording is one atomic addition there too. No word has values on both sides
// of a bound, so each count by bounds is a sum of words.
//
// Taking a snapshot needs no lock. It copies the histogram, and copies it again
// if anything except a packed word has changed in the meantime.
//
// # Performance considerations
//
// Recording costs little more than the atomic addition. To avoid allocations,
// keep the Snapshot, because the next call of Histogram.Snapshot uses its
// memory again. Take all quantiles with one call of AppendQuantiles.
//
// The memory of a histogram grows with the range of its values. With the
// default layout, it is at most 1.2 KB after 10,000 log-normal latencies of any
// spread, even with a dozen explicit bounds. It never exceeds 12 KB. In any
// layout, it is at most a little more than two words for each of MaxBuckets and
// for each bound. All histograms of a unit and a schema share a table with 8
// bytes for each possible bucket of an int64. The table takes 17 KB for schema
// 5 and 133 KB for schema 8. The first histogram makes it.
package exphist
