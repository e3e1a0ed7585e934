// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package report reads decision logs of Open Policy Agent (OPA) and tells where
// the time went.
//
// The way is one line: [Read] finds the files and cuts them into parts, package
// decisionlog reads the events in these, package rollup folds them into groups,
// and what that came to is a [Data], which can be saved, loaded and merged.
// Of that a [Report] is made, and written as a table, as JSON, as a page.
package report
