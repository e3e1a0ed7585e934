// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollup folds decisions into distributions: a histogram for each
// stage, over all decisions and for some stages by path, sums of counters, and
// counts of outcomes and errors, with bounded labels.
//
// A decision is a path, an [Outcome] and the metrics that Open Policy Agent
// (OPA) collected for it, as a map ([Rollup.Add]), as a collection
// ([Rollup.AddMetrics]) or as parsed numbers ([Rollup.AddNumbers]). Of these,
//
//   - timer_<stage>_ns goes to the histogram of the stage and, if the stage is
//     one of [Options.PathStages], to that of the stage and the path. A timer
//     of 0 was still running, or is below the clock's resolution: it is counted
//     as unfinished, by [Cause], and is no sample. A negative one is counted
//     apart, see [exphist.Snapshot.Negatives].
//   - counter_<name> is added to the total of the counter.
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
// By path the same is done with the stages that are kept by path alone. So what
// the others took is part of the nearest kept stage around them, if there is
// one; of the path's stages too, the self times add up.
//
// # Bounds
//
// A client can invent paths, so labels and memory are bounded: [Options.Size]
// says by what. What has no label of its own goes to the label [Other]. If that
// is for want of room, [Overflow] counts it. Nothing is dropped: the outcomes
// of all paths add up to the number of decisions, and each timer is in one
// histogram of Stages. A label once given stays, and nothing is ever removed,
// so that Prometheus sees no reset. The rules, exactly:
//
//   - The stages of the table, the counters of [DefaultCounters] and those that
//     the options add have their names as labels. Another name gets one when it
//     is first seen with a valid value, if fewer than Limits.Stages or
//     Limits.Counters have got one so. By default none can: then a label
//     depends on the options alone, and is the same in every process.
//   - Timers of OPA's instrumentation (the families of the table), and counters
//     named alike, are Other, and are not counted as overflow: whoever may ask
//     a server for a decision may ask for them.
//   - A path gets a label when it is first seen, if fewer than Limits.Paths
//     have one. Whoever wants labels that do not depend on the order of the
//     decisions gives no more than so many different ones.
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
