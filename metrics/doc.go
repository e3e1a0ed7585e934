// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics records how long the parts of a decision took. It is a drop-in
// for the package of the same name of Open Policy Agent (OPA),
// github.com/open-policy-agent/opa/v1/metrics: the same exported API, the same
// keys, types and JSON, for a fraction of the time, memory and allocations. It
// depends on the standard library alone.
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
// ([AppendJSON], encoding/json), as text (fmt), as a log/slog value, or by
// iteration without any allocation ([Each]).
//
// # Concurrency
//
// Everything may be used from any goroutine at any time: no update is lost, and
// what is read is a value that was there at some moment of the call. A summary
// of several metrics is not a snapshot of one moment.
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
// # Differences from OPA
//
// Where OPA's answer is random or wrong, this package differs:
//
//   - The mean of values whose sum exceeds an int64 is right; OPA's sum wraps.
//   - The standard deviation is exact to the last digits; OPA's depends on the
//     order in which its reservoir happens to hold the values.
//   - [Statistics] of more than 1,028 numbers is exact; OPA's samples them.
//   - Of a histogram with more than 1,028 values, each is in the sample with
//     the probability that its age gives it. OPA's always holds the newest
//     value, as it makes room before it knows whether the new value may enter,
//     and breaks down when no value has come for 13 hours.
package metrics
