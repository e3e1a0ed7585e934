// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package exphist is a histogram of integers with base-2 exponential buckets,
// those of Prometheus native histograms and of OpenTelemetry exponential
// histograms, in the unit in which it is exported.
//
// # Buckets
//
// A recorded integer n stands for n·u of the exported unit: u is 10⁻⁹ if
// nanoseconds are exported as seconds. With schema s, bucket i holds the n with
//
//	2^((i−1)/2^s) < n·u ≤ 2^(i/2^s)
//
// which integers decide, without rounding. This is Prometheus' numbering; the
// index in OpenTelemetry is i−1. Zeros have a bucket of their own. Negative
// values are counted, and are in nothing else.
//
// A histogram's buckets span the values seen, from the smallest positive to the
// largest. Where these would need more than Layout.MaxBuckets, the schema is
// reduced by one, which makes one bucket of two, until they do not. It never
// rises again. The schema depends on the range of the values alone, not on
// their order, and so histograms may be merged in any order.
//
// # Explicit bounds
//
// Layout.Bounds are up to 100 more bounds, any positive integers: those of
// Prometheus' classic buckets, OpenTelemetry's explicit bounds. For each of
// them, Snapshot.CountAtMost says exactly how many values are at most that,
// whatever the schema, and of the same recordings as all else in the snapshot.
// Only histograms of equal bounds can be merged; where they have changed,
// Snapshot.Rebound gives up the old counts.
//
// # Sums and counts
//
// Sums are exact, as 128-bit numbers. Counts are modulo 2^64, and no sum can
// overflow before its count does.
//
// # Saving
//
// A [Content] is what a snapshot holds, as plain numbers. [Snapshot.Restore]
// checks a content that was saved, and makes a snapshot of it.
//
// # How it works
//
// A bucket that has many values has a packed word, which counts them in its
// upper bits and adds up in its lower bits by how much they exceed the bucket's
// lower bound. So recording is one atomic addition, and the count and the sum
// that a snapshot reads are those of the same recordings. A word that is half
// full is emptied into wider counters. Rare values are counted in one byte for
// each bucket, under a lock, until their bucket has 96 of them; so are those in
// buckets that are wider than 2^29: at schema 5, values above 24 s in
// nanoseconds.
//
// A bucket that explicit bounds cut has a packed word for each part. So
// recording is one atomic addition there too, and no word has values on both
// sides of a bound: to count by bounds is to add up the words in another way.
//
// A snapshot takes no lock. It copies the histogram, and does so again if more
// than such additions happened meanwhile.
//
// # Performance considerations
//
// Recording costs little more than the atomic addition. Keep the histogram
// rather than looking it up, keep the Snapshot, whose memory is used again, and
// take all quantiles by one call of AppendQuantiles: then nothing is allocated.
//
// The memory of a histogram follows its values. After 10,000 log-normal
// latencies it is 0.5 to 1.1 KB with the default layout, whatever their spread,
// also with a dozen explicit bounds, and it never exceeds 12 KB. It is bounded
// by two words for each of MaxBuckets and of the bounds, and a little more. All
// histograms of a unit and a schema share a table of 8 bytes for each bucket
// that an int64 can be in: 17 KB for schema 5, 134 KB for schema 8. It is made
// when the first of them is.
package exphist
