// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package text writes numbers, times and names for people to read, in the same
// way in tables, Markdown and pages. Its functions may be called at the same
// time.
package text

// None stands for a missing value, and Empty for an empty name.
const (
	None  = "–"
	Empty = "(empty)"
)

// Documents is where the documents are, for users who have only the command.
const Documents = "https://github.com/regometer/regometer/blob/main/docs/"
