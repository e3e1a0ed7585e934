// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// Write writes a table of the decisions and one of the stages. If top is not 0,
// decisions that did not change have only the outcome that differs most.
func (c *Comparison) Write(w output.Writer, top int) {
	w.Prose(c.summary())
	write := func(t *text.Table, all int) {
		if all > 0 {
			w.Table(t)
		}
		output.WriteMore(w, top, all)
	}
	decisions := newTable(c.By, "outcome", "change in pp", "decisions")
	decisions.Columns[2].Drop, decisions.Columns[6].Drop = 3, 2 // the share before matters more
	for _, r := range text.First(c.Decisions, top) {
		if top > 0 && r.Verdict != Changed {
			r.Changes = []Change{slices.MaxFunc(r.Changes, func(a, b Change) int { return cmp.Compare(math.Abs(a.Change), math.Abs(b.Change)) })}
		}
		addRow(decisions, &r)
	}
	write(decisions, len(c.Decisions))
	write(c.StageTable(top), len(c.Stages))
	if len(c.Decisions) > 0 {
		w.Prose(c.claim())
	}
}

// StageTable returns a table of the first top stages, or of all if top is 0.
func (c *Comparison) StageTable(top int) *text.Table {
	t := newTable(c.By+" / stage", "quantile", "change in %", "self time")
	for _, r := range text.First(c.Stages, top) {
		addRow(t, &r)
	}
	return t
}

func newTable(by, what, change, impact string) *text.Table {
	t := text.NewTable(1, by, what, "before", "after", change, "interval", impact)
	t.Columns[1].Left, t.Columns[4].Left, t.Columns[5].Left = true, true, true
	t.Columns[2].Drop, t.Columns[5].Drop, t.Columns[6].Drop = 2, 1, 3
	return t
}

// addRow adds a line for each change of a row. The stage is in the second line.
func addRow(t *text.Table, r *Row) {
	names := []string{r.Key}
	if r.Stage != "" {
		names = append(names, "  "+r.Stage)
	}
	for i := range max(len(names), len(r.Changes)) {
		cells := make([]string, len(t.Columns))
		if i < len(names) {
			cells[0] = names[i]
		}
		if i < len(r.Changes) {
			ch := &r.Changes[i]
			change, interval := ch.text()
			copy(cells[1:], []string{ch.Name, ch.value(ch.Before), ch.value(ch.After), change, interval})
		}
		if i == 0 {
			cells[6] = r.impact()
		}
		t.Add(cells...)
	}
}
