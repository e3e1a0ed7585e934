// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollup folds decisions into distributions with bounded labels. It
// keeps a histogram for each stage over all decisions, and for some stages also
// by path. It also keeps sums of counters, and counts of outcomes and errors.
//
// A [Decision] has a path, an [outcome.Outcome] and the metrics that Open Policy
// Agent (OPA) collected. [Rollup.Add] treats each metric by its key:
//
//   - timer_<stage>_ns goes to the histogram of the stage and, if the stage is
//     one of [Options.PathStages], to the histogram of the stage and the path.
//     A timer of 0 was still running, or its time is below the clock's
//     resolution. It counts as unfinished, see [StageTotal.Unfinished], and not
//     as a duration.
//     Negative timers are counted separately, see [exphist.Snapshot.Negatives].
//   - counter_<name> is added to the total of the counter.
//   - Other keys are ignored. A histogram_<name> is a summary, which cannot be
//     merged.
//
// A negative counter is ignored, and counted in [Overflow.Invalid].
//
// # Self time
//
// Stages contain one another. For example, the handler of the server contains
// the evaluation, and the evaluation contains http.send. [Options.Stages] extends
// the table of stages. In each decision, the time of a stage
// is subtracted from the nearest stage around it whose timer is above 0, down
// to 0. The rest, over all decisions, is [StageTotal.Self]. You may add up self
// times over stages, because they count no time twice. You may not add up the
// sums of histograms. A stage that is not in the table is inside no other
// stage.
//
// The self times of a path take only the stages into account that are kept by
// path. So the time of other stages belongs to the nearest kept stage around
// them. You may add up the self times of a path's stages too.
//
// # Bounds
//
// A client can invent paths, so labels and memory are bounded, see
// [Options.Size]. Values without a label of their own get the label [Other],
// and [Overflow] counts them. Nothing is lost. The outcomes of all paths add up
// to the number of decisions, and each duration is in one histogram of
// [Snapshot.Stages]. A label stays for ever, so that Prometheus sees no reset.
// The rules are:
//
//   - The stages of the table, the default counters and the counters of
//     the options have their names as labels. So these labels
//     depend only on the options, and are the same in every process.
//   - Timers of OPA's instrumentation (the families of the table), and counters
//     of the same names, have the label Other. They are not overflow, because
//     any client can ask for them.
//   - A path gets a label with its first decision, as long as fewer than
//     [Options.Paths] paths have one. Labels do not depend on the order of
//     decisions if there are no more paths than that.
//   - An empty name or path, and "other", have the label Other. In a path,
//     U+FFFD replaces bytes that are not UTF-8. A path of more than 1,024 bytes
//     is overflow.
//
// # Concurrency and cost
//
// A rollup has one mutex, which [Rollup.Add] holds for less than a microsecond.
// Add allocates memory only for the first decision of a path, for the first
// duration of a stage, and when a histogram grows. A [Rollup.Snapshot] holds it
// while it copies all stages, and then for one path at a time.
//
// Before 1.0, names may change, and there may be more outcomes, causes and stages.
// What is counted and the bounds stay.
package rollup
