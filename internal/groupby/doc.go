// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package groupby folds the decisions of logs into groups by a key, and each
// group into slices of time. Stages, outcomes, error codes and self times are
// those of package rollup, except that sums have 128 bits. The order of the
// decisions does not decide which names and keys are kept. So parts of a log
// can be folded separately and then merged.
package groupby
