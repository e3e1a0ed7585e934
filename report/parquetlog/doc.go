// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package parquetlog writes the decisions of a log as a Parquet file, one row
// each, for DuckDB, Spark, Trino, ClickHouse and whatever else reads Parquet.
//
// The columns, where a null stands for what a decision does not have:
//
//   - time: timestamp in µs, UTC, rounded down;
//   - path and outcome: texts, never null, as in a report;
//   - error_code, decision_id, revision, requested_by: texts; the revision is
//     that of all bundles, as [decisionlog.Event.BundleRevisions] has it;
//   - labels: a map of texts;
//   - for each stage of [rollup.DefaultStages] that is no family, by its name
//     and _ns: an int64 in ns, which is 0 if the timer is unfinished;
//   - timers: a map of all other timers, named as stages, in ns;
//   - counters: a map of all counters.
//
// Input and result of a decision are left out. A text of more than 16 KiB is
// cut, and of more than 1,024 labels, timers or counters of a decision the rest
// is left out.
//
// The rows are in no order. There are about 131,072 in a row group, or fewer
// with 8 MiB of texts; the columns that are no texts have their least and
// greatest value with it. A [Writer] needs up to 50 MB, in rare cases 200 MB,
// and for each row group about 30 KB until the end.
package parquetlog
