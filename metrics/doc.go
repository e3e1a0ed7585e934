// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics records what the policy engine of Open Policy Agent does and
// how long it takes, in timers, counters and histograms with names. It depends
// only on the standard library.
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
// that a call returns was the metric's value at some moment during the call.
// The values of several metrics may belong to different moments.
//
// # Accuracy
//
//   - The mean comes from the exact sum, even if the sum exceeds an int64. The
//     standard deviation does not depend on the order of the values.
//   - [Statistics] is exact for any number of values.
//   - A histogram with more than 1,028 values keeps a sample. The probability
//     that a value is in the sample depends only on its age. This also holds
//     for the newest value, and after long pauses.
//
// # Performance considerations
//
//   - Keep a handle ([Timer], [Counter], [Histogram]) to avoid looking up its
//     name again. A look-up is cheapest if the name is a constant.
//   - A collection and its first eight timers and counters take one allocation.
//     Each histogram takes another one. Its memory grows with its values, up to
//     18.1 KB at 1,028 values.
//   - [Metrics.All] allocates a map, and another one for each histogram.
//     [AppendJSON] needs no map. If you marshal a collection repeatedly,
//     AppendJSON reuses the text of metrics that have not changed.
//   - Names that recur are cheaper than names that are used once, because the
//     package formats a recurring name only once.
//
// # Reading the code
//
// The hot path begins at Timer in collection.go, which looks up the metrics of
// a request, and continues in timer.go. name.go finds a name, and unsafe.go
// finds a constant. index.go holds the metrics that do not fit inline.
// Histograms are in reservoir.go, histogram.go, summary.go and statistics.go.
//
// All that OPA's package exports stays as it is there. Before 1.0, the other names
// may change: AppendJSON, Each, Kind, Metric and Summary.
package metrics
