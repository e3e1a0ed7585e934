// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// WriteMarkdown writes what WriteTable does, as GitHub's Markdown, with the
// first rows, all if top is 0. Text from a log is written as code, so that it
// is neither a link nor a mention nor HTML. The error is that of w.
func (c *Comparison) WriteMarkdown(w io.Writer, top int) error {
	m := bufio.NewWriter(w)
	fmt.Fprintf(m, "%s\n", c.summary())
	if rows := c.top(top); len(rows) > 0 {
		t := text.Table{Columns: text.Columns(3, text.Code(c.By), "stage", "", "before", "after", "change in %", "impact")}
		t.Columns[5].Left = true
		for _, r := range rows {
			for _, ch := range r.Changes {
				t.Add(text.Code(r.Key), text.Code(r.Stage), name(ch.Quantile),
					text.Duration(ch.Before), text.Duration(ch.After), ch.text(true), signed(r.Impact))
			}
		}
		fmt.Fprintf(m, "\n%s\n", t.Markdown())
		if more := len(c.Rows) - len(rows); more > 0 {
			fmt.Fprintf(m, "%s more: see `--top`\n", text.Plural(more, "row"))
		}
		fmt.Fprintf(m, "%s\n", c.claim())
	}
	for _, list := range c.remarks(top) {
		m.WriteString("\n")
		for _, r := range list {
			m.WriteString("- ")
			for _, name := range r.names {
				m.WriteString(text.Code(name) + " ")
			}
			m.WriteString(strings.ReplaceAll(r.text, "--top", "`--top`") + "\n")
		}
	}
	return m.Flush()
}
