// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollup folds decisions into distributions: a histogram for each
// stage, over all decisions and for some stages by path, sums of counters, and
// counts of outcomes and errors, with bounded labels.
//
// A [Decision] has a path, an [Outcome] and the metrics that Open Policy Agent
// (OPA) collected. [Rollup.Add] treats each metric by its key:
//
//   - timer_<stage>_ns goes to the histogram of the stage and, if the stage is
//     one of [Options.PathStages], to the histogram of the stage and the path. A
//     timer of 0 was still running, or is below the clock's resolution: it is
//     counted as unfinished, by [Cause], and not as a duration. A negative timer
//     is counted apart, see [exphist.Snapshot.Negatives].
//   - counter_<name> is added to the total of the counter.
//   - Other keys are ignored. A histogram_<name> is a summary, which cannot be
//     merged.
//
// A value that is not an integer of 64 bits, or a counter that is negative, is
// ignored and counted in [Overflow.Invalid].
//
// # Self time
//
// Stages contain one another: the handler of the server contains the
// evaluation, and the evaluation contains http.send. [DefaultStages] is the
// table, and [Options.Stages] extends it. In each decision, the time of a stage
// is subtracted from the nearest stage around it whose timer is above 0, down
// to 0. The rest, over all decisions, is [StageTotal.Self]. Self times may be
// added up over stages, because nothing is counted twice. Sums of histograms
// may not. No stage contains a stage that is not in the table.
//
// By path, only the stages that are kept by path take part. So the time of the
// others belongs to the nearest kept stage around them. The self times of a
// path's stages may be added up too.
//
// # Bounds
//
// A client can invent paths, so labels and memory are bounded: see
// [Options.Size]. Values without a label of their own have the label [Other],
// and [Overflow] counts them. Nothing is lost: the outcomes of all paths add up
// to the number of decisions, and each timer is in one histogram of Stages. A
// label stays for ever, so that Prometheus sees no reset. The rules are:
//
//   - The stages of the table, the counters of [DefaultCounters] and those of
//     the options have their names as labels. So a label follows from the
//     options, and is the same in every process.
//   - Timers of OPA's instrumentation (the families of the table), and counters
//     of the same names, are Other, and are not overflow: any client can ask for
//     them.
//   - A path gets a label with its first decision, as long as fewer than
//     [Options.Paths] paths have one. To make labels independent of the order of
//     decisions, use no more different paths than that.
//   - An empty name or path, and "other", are Other. In a path, U+FFFD replaces
//     bytes that are not UTF-8. A path of more than 1,024 bytes is overflow.
//
// # Concurrency and cost
//
// Add takes a lock only for the first decision of a path, and the first
// duration of a stage. After that it allocates nothing. It never waits for a
// [Rollup.Snapshot].
package rollup
