// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// markdown writes GitHub's Markdown. Text from a log is code, so that it is
// neither a link nor a mention nor HTML.
type markdown struct{ blocks }

// block writes a block of parts.
func (m *markdown) block(parts ...string) {
	m.begin()
	m.WriteString(strings.Join(parts, "") + "\n")
}

func (m *markdown) Title(title string) { m.block("## ", proseOf(title)) }

func (m *markdown) Prose(prose string) { m.block(proseOf(prose)) }

func (m *markdown) Item(name, prose, command string) {
	m.block("- ", text.Code(name), ": ", proseOf(prose))
	if command != "" {
		m.block("  ```sh\n  ", text.Visible(command), "\n  ```")
	}
}

func (m *markdown) Table(t *text.Table) {
	var head, rules, rows strings.Builder
	add := func(to *strings.Builder, cell string) { to.WriteString("| " + strings.TrimLeft(cell+" ", " ")) }
	for _, c := range t.Columns {
		add(&head, proseOf(c.Title))
		add(&rules, map[bool]string{true: "---", false: "---:"}[c.Left])
	}
	for _, cells := range t.Rows {
		rows.WriteString("|\n")
		for i, cell := range cells {
			if cell = strings.TrimSpace(cell); t.Columns[i].Name && cell != "" {
				cell = strings.ReplaceAll(text.Code(cell), "|", `\|`)
			}
			add(&rows, cell)
		}
	}
	m.block(head.String(), "|\n", rules.String(), rows.String(), "|")
}

func (m *markdown) Sections(t *text.Table, sections []Section) {
	for _, s := range sections {
		m.block("### ", text.Code(s.Name), ", ", s.Share)
		m.Prose(s.Prose)
		if s.Rows != nil {
			m.Table(&text.Table{Columns: t.Columns, Rows: s.Rows})
		}
	}
}

// proseOf returns prose. Text between backticks becomes code.
func proseOf(s string) string {
	var b strings.Builder
	parts := strings.Split(s, "`")
	for i, part := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			b.WriteString(text.Code(part))
			continue
		}
		b.WriteString(proseEscapes.Replace(text.Visible(part)))
	}
	return b.String()
}

// proseEscapes escapes what Markdown would interpret within a line.
var proseEscapes = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`, "|", `\|`)
