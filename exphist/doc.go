// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package exphist is a histogram of integers. Its base-2 exponential buckets
// are those of Prometheus native histograms and of OpenTelemetry exponential
// histograms, in the exported unit.
//
// # Buckets
//
// A recorded integer n stands for n·u of the exported unit. If nanoseconds are
// exported as seconds, u is 10⁻⁹. With schema s, bucket i holds each n with
//
//	2^((i−1)/2^s) < n·u ≤ 2^(i/2^s)
//
// Integers decide this, without rounding. The numbers are Prometheus'. The
// index in OpenTelemetry is i−1. Zeros have their own bucket. Negative values
// are only counted.
//
// A histogram's buckets span the values from the smallest positive to the
// largest. If they need more than Layout.MaxBuckets, the schema is reduced by
// one, which makes one bucket of two, until they fit. It never rises again. The
// schema depends only on the range of the values, and not on their order. So
// histograms can be merged in any order.
//
// # Explicit bounds
//
// Layout.Bounds are up to 100 more bounds. They can be any positive integers,
// such as the bounds of Prometheus' classic buckets, which OpenTelemetry calls
// explicit bounds. Snapshot.CountAtMost returns the exact number of values up
// to each of them, whatever the schema. It counts the same recordings as the
// rest of the snapshot. Only histograms with equal bounds can be merged. When
// bounds have changed, Snapshot.Rebound gives up the old counts.
//
// # Sums and counts
//
// Sums are exact, and have 128 bits. Counts are modulo 2^64. No sum overflows
// before its count does.
//
// # Saving
//
// A [Content] has the numbers of a snapshot. [Snapshot.Restore] checks a saved
// content, and makes a snapshot of it.
//
// # How it works
//
// A bucket with many values has a packed word. The upper bits count the values.
// The lower bits add up the excess of each value over the bucket's lower bound.
// So recording is one atomic addition, and the count and the sum of a snapshot
// are of the same recordings. A word that is half full is emptied into wider
// counters. Rare values are counted in one byte for each bucket, under a lock,
// until their bucket has 96 of them. Values in buckets wider than 2^29 are
// always counted so. At schema 5, these are nanoseconds above 24 s.
//
// A bucket that explicit bounds cut has a packed word for each part. So
// recording is one atomic addition there too. No word has values on both sides
// of a bound, so counts by bounds are sums of other words.
//
// A snapshot takes no lock. It copies the histogram, and copies it again if
// something other than a packed word has changed in between.
//
// # Performance considerations
//
// Recording costs little more than the atomic addition. Nothing is allocated if
// a program keeps the histogram instead of looking it up, keeps the Snapshot,
// whose memory is used again, and takes all quantiles with one call of
// AppendQuantiles.
//
// The memory of a histogram follows its values. After 10,000 log-normal
// latencies of any spread it is 0.5 to 1.1 KB with the default layout, also
// with a dozen explicit bounds. It never exceeds 12 KB. It is at most two words
// for each of MaxBuckets and of the bounds, and a little more. All histograms
// of a unit and a schema share a table with 8 bytes for each bucket that an
// int64 can be in. It takes 17 KB for schema 5, and 134 KB for schema 8. The
// first histogram makes it.
package exphist
