// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package groupby folds the decisions of logs into groups by a key, and each
// group into slices of time. Stages, outcomes, error codes and self times are
// those of package rollup, except that sums have 128 bits. Which names and keys
// are kept does not depend on the order of the decisions, so parts of a log can
// be folded apart and merged.
package groupby
