// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollup folds decisions into distributions: a histogram for each stage
// and path, totals of counters, and counts of outcomes, with bounded labels.
//
// A decision is a path, an [Outcome] and the metrics that Open Policy Agent
// (OPA) collected for it, as a map ([Rollup.Add]), as a collection
// ([Rollup.AddMetrics]) or as parsed numbers ([Rollup.AddNumbers]). Of these,
//
//   - timer_<stage>_ns goes to the histogram of the stage and the path. A timer
//     of 0 was still running, or is below the clock's resolution: it is counted
//     as unfinished and is no sample. A negative one is counted apart, see
//     [exphist.Snapshot.Negatives].
//   - counter_<name> is added to the total of the counter and the path.
//   - histogram_<name> is a summary, which cannot be merged, and left alone. So
//     is any other key.
//
// A value that is not an integer of 64 bits, or a counter that is negative, is
// ignored and counted in [Overflow.Invalid].
//
// # Self time
//
// Stages contain one another: the handler of the server contains the
// evaluation, and that contains http.send. [DefaultStages] is the table of what
// contains what, [Options.Stages] extends it. In each decision, the time of a
// stage is subtracted from that of the nearest stage around it whose timer is
// there and above 0, never by more than that has. What is left over all
// decisions is [StageTotal.Self]. It adds up over stages without counting
// anything twice, where sums of the histograms do not. A stage that is not in
// the table is contained in none.
//
// # Bounds
//
// A client can invent paths, so labels and memory are bounded by [Limits]. What
// finds no room goes to the label [Other] and is counted in [Overflow]. Nothing
// is dropped: the outcomes of all paths add up to the number of decisions, and
// each timer is in one histogram. A label once given stays, and nothing is ever
// removed, so that Prometheus sees no reset. The rules, exactly:
//
//   - A stage gets its name as label when it is first seen with a valid value, if
//     fewer than Limits.Stages have one; so does a counter with Limits.Counters.
//     Timers of OPA's instrumentation (see [DefaultStages]) do not: whoever may
//     ask a server for a decision may ask for them, and they would use up the
//     labels.
//   - Path Other has Limits.Stages+1 histograms and Limits.Counters+1 totals set
//     apart for it. The labelled paths share the rest of Limits.Histograms and
//     Limits.Events.
//   - A path gets a label if fewer than Limits.Paths have one, and if of the
//     shared histograms and totals as many are left as there are labels of stages
//     and of counters so far (those of this decision and Other included), so that
//     it is not cut apart. Once a decision's path was refused, no further one's is
//     admitted.
//   - A stage or counter of a labelled path that is new to it and finds no
//     histogram or total left, goes to path Other, under its own name.
//   - What [Options.Label] refuses goes to path Other, and is not counted as
//     overflow.
//   - An empty name or path, and one that reads "other", are Other. Bytes that
//     are not UTF-8 are replaced by U+FFFD. A name or path of more than 1,024
//     bytes is treated as if there were no room for it.
//
// # Concurrency and cost
//
// Add is safe from any goroutine. It takes a lock only when it sees a path, a
// stage or a counter for the first time, and allocates nothing afterwards. A
// [Rollup.Snapshot] never makes it wait.
package rollup
