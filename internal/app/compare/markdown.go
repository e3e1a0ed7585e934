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

// MarkdownOptions says how a comparison is written as Markdown.
type MarkdownOptions struct {
	Top int // how many rows are shown, the first ones. 0: all
}

// WriteMarkdown writes what WriteTable does, as GitHub's Markdown. What stands
// in a log is written as code, where nothing has a meaning: neither links nor
// mentions nor HTML. The error is that of w.
func (c *Comparison) WriteMarkdown(w io.Writer, o MarkdownOptions) error {
	m := bufio.NewWriter(w)
	fmt.Fprintf(m, "%s\n", c.summary())
	if rows := c.top(o.Top); len(rows) > 0 {
		fmt.Fprintf(m, "\n| %s | stage | | before | after | change in %% | impact |\n", cell(c.By))
		m.WriteString("| --- | --- | --- | ---: | ---: | --- | ---: |\n")
		for _, r := range rows {
			for _, ch := range r.Changes {
				fmt.Fprintf(m, "| %s | %s | %s | %s | %s | %s | %s |\n", cell(r.Key), cell(r.Stage),
					name(ch.Quantile), text.Duration(ch.Before), text.Duration(ch.After), ch.text(true), signed(r.Impact))
			}
		}
		m.WriteString("\n")
		if more := len(c.Rows) - len(rows); more > 0 {
			fmt.Fprintf(m, "%s more: see `--top`\n", text.Plural(more, "row"))
		}
		fmt.Fprintf(m, "%s\n", c.claim())
	}
	for i, only := range c.Only {
		if i == 0 {
			m.WriteString("\n")
		}
		if o.Top > 0 && i == o.Top {
			fmt.Fprintf(m, "- and %s more in one only: see `--top`\n", text.Count(len(c.Only)-i))
			break
		}
		stage := ""
		if only.Stage != "" {
			stage = " " + text.Code(only.Stage)
		}
		fmt.Fprintf(m, "- %s%s %s\n", text.Code(only.Key), stage, only.counts())
	}
	for i, threshold := range c.Thresholds {
		if i == 0 {
			m.WriteString("\n")
		}
		fmt.Fprintf(m, "- %s %s\n", text.Code(threshold.String()), c.verdict(threshold))
	}
	return m.Flush()
}

// cell returns a code span for a table, in which also code has to escape bars.
func cell(s string) string { return strings.ReplaceAll(text.Code(s), "|", `\|`) }
