// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics records what the policy engine of Open Policy Agent does and
// how long it takes: timers, counters and histograms, by name. It depends on
// the standard library alone.
//
//	m := metrics.New()
//	t := m.Timer(metrics.RegoQueryEval)
//	t.Start()
//	// …
//	t.Stop()
//	m.Counter("cache_hit").Incr()
//	m.Histogram("rows").Update(1234)
//	m.All() // {"timer_rego_query_eval_ns": …, "counter_cache_hit": 1, "histogram_rows": {…}}
//
// A collection ([Metrics]) is made for each decision, or lives as long as the
// program. What was recorded leaves it as a map ([Metrics.All]), as JSON
// ([AppendJSON], encoding/json), as text (fmt), or by iteration without any
// allocation ([Each]).
//
// # Concurrency
//
// Everything may be used from any goroutine at any time: no update is lost, and
// what is read is a value that was there at some moment of the call. A summary
// of several metrics is not a snapshot of one moment.
//
// # Accuracy
//
//   - The mean is that of the exact sum, also where that exceeds an int64, and is
//     rounded once. The standard deviation does not depend on the order of the
//     values.
//   - [Statistics] is exact however many numbers it is given.
//   - Of a histogram with more than 1,028 values, each is in the sample with the
//     probability that its age gives it, the newest too, and however long no value
//     came in between.
//
// # Performance considerations
//
//   - A handle that is kept ([Timer], [Counter], [Histogram]) saves the look-up
//     of its name, which is otherwise cheapest for constants.
//   - The first eight timers and counters of a collection are within its one
//     allocation. A histogram is an allocation of its own, and its memory grows
//     with its values, to at most 18.5 KB from 1,028 values on.
//   - All allocates a map, and one for each histogram. To encode metrics,
//     [AppendJSON] needs neither; and for a collection that is marshalled
//     again and again it does no work for what has not changed.
//   - Names that recur are cheaper than names made up for one use: the former
//     are formatted once in the life of the program.
//
// # Reading the code
//
// The hot path begins at Timer in collection.go, where the metrics of a request
// are looked up and recorded, and goes on in timer.go. How a name is found is
// in name.go, and a constant in unsafe.go; what does not fit inline is in
// index.go. Histograms are in histogram.go, reservoir.go and summary.go.
package metrics
