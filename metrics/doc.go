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
// A collection ([Metrics]) belongs to one decision, or lives as long as the
// program. Read it as a map ([Metrics.All]), as JSON ([AppendJSON],
// encoding/json), as text (fmt), or by iteration without any allocation
// ([Each]).
//
// # Concurrency
//
// Any goroutine may call any function at any time. No update is lost. A value
// that a call returns was the metric's value at some moment of the call. The
// values of several metrics may belong to different moments.
//
// # Accuracy
//
//   - The mean comes from the exact sum, even if the sum exceeds an int64, and
//     is rounded once. The standard deviation does not depend on the order of
//     the values.
//   - [Statistics] is exact for any number of values.
//   - A histogram with more than 1,028 values keeps a sample. The probability
//     that a value is in the sample depends on its age alone. This also holds
//     for the newest value, and after long pauses.
//
// # Performance considerations
//
//   - Keep a handle ([Timer], [Counter], [Histogram]) to save the look-up of
//     its name. A look-up is cheapest if the name is a constant.
//   - The first eight timers and counters of a collection are within its one
//     allocation. A histogram is an allocation of its own. Its memory grows
//     with its values, to at most 18.5 KB at 1,028 values.
//   - All allocates a map, and another one for each histogram. [AppendJSON]
//     needs no map. If you marshal a collection repeatedly, AppendJSON does no
//     work for metrics that have not changed.
//   - Names that recur are cheaper than names made up for one use, because the
//     program formats a name that recurs once.
//
// # Reading the code
//
// The hot path begins at Timer in collection.go, which looks up the metrics of
// a request, and continues in timer.go. name.go finds a name, and unsafe.go
// finds a constant. index.go holds the metrics that do not fit inline.
// Histograms are in histogram.go, reservoir.go and summary.go.
package metrics
