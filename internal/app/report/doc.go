// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package report reads decision logs of Open Policy Agent (OPA) and reports
// where the time went.
//
// [Read] finds the files and cuts them into parts. Package decisionlog reads
// the events in them, and package rollup folds these into groups. The result is
// [Data], which can be saved, loaded and merged. Data.Report makes a [Report],
// which can be written as a table, as Markdown, JSON or CSV, and as a page.
package report
