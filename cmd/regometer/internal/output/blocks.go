// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package output

import "bufio"

// A Section has rows of a table.
type Section struct {
	Name, Share, Prose string
	Rows               [][]string
}

// blocks writes blocks with an empty line between them.
type blocks struct {
	*bufio.Writer
	hasText bool // above the next block
}

// begin begins a block.
func (b *blocks) begin() {
	if b.hasText {
		b.WriteByte('\n')
	}
	b.hasText = true
}
