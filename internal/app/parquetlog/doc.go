// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package parquetlog writes the decisions of a log as a Parquet file with a row
// for each decision. DuckDB, Spark, Trino, ClickHouse and others read it.
//
// It has these columns. A null stands for what a decision does not have.
//
//   - time: a timestamp in µs, UTC, rounded down;
//   - path and outcome: texts as in a report, never null;
//   - error_code, decision_id, revision, requested_by: texts; the revision is
//     that of all bundles: see [decisionlog.Event.BundleRevisions];
//   - labels: a map of texts;
//   - a column for each stage of [rollup.DefaultStages], except families of
//     stages: its name and _ns, an int64 in ns; 0 is an unfinished timer;
//   - timers: a map of all other timers in ns, named like stages;
//   - counters: a map of all counters.
//
// The input and the result of a decision are left out. The package cuts a text
// after 16 KiB, and keeps at most 1,024 labels, timers and counters of a
// decision.
//
// The rows are in no order. A row group has at most about 131,072 rows, and
// about 16 MiB of texts and maps. The file records the smallest and the largest
// value of each column in each row group and page.
//
// A [Writer] needs about 30 MB, up to 150 MB with extreme texts, and until the
// end about 110 KB for each row group.
package parquetlog
