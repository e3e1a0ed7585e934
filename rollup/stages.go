// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/stages"
)

// Other is the label of paths, stages, counters and error codes that have no
// label of their own.
const Other = "other"

// Stage is an entry in the table of stages. docs/operating.md lists OPA's own
// stages.
type Stage struct {
	// Name is the timer's name, without "timer_" and "_ns". A name that ends in
	// * is a family. Timers whose names begin with it, and that have no entry
	// of their own, belong to stage Other.
	Name string

	// Parent is the stage that contains this one, or "". It may be several
	// names, separated by spaces, if any of these stages can contain this one.
	// The parents and the stages around them are ancestors. The stage's time is
	// subtracted from the innermost ancestor that the decision has.
	Parent string

	// Help says in one line what the stage measures. [New] ignores it.
	Help string
}

// newStageTable returns the table of the default stages and more. It fails if
// more has an invalid or a double entry, or if a parent is unknown.
func newStageTable(more []Stage) (t stages.Table, err error) {
	entries := stages.DefaultStages()
	replaced := map[string]bool{}
	for i, s := range more {
		if err := checkName("Stages", i, s.Name); err != nil {
			return t, err
		}
		if replaced[s.Name] {
			return t, fmt.Errorf("rollup: Stages[%d]: stage %q is listed twice: remove one", i, s.Name)
		}
		replaced[s.Name] = true
		entry := stages.Entry(s)
		if at := slices.IndexFunc(entries, func(e stages.Entry) bool { return e.Name == s.Name }); at >= 0 {
			entries[at] = entry
		} else {
			entries = append(entries, entry)
		}
	}
	if t, err = stages.NewTable(entries); err != nil {
		return t, fmt.Errorf("rollup: Stages: %w", err)
	}
	return t, nil
}

// checkName returns an error if a name cannot be the label of a stage or
// counter. The name is element i of the option.
func checkName(option string, i int, name string) error {
	if name == "" || name == Other || strings.ContainsFunc(name, unicode.IsSpace) ||
		!utf8.ValidString(name) || len(name) > stages.MaxName {
		return fmt.Errorf("rollup: %s[%d]: %.80q is not a valid name: "+
			"it must have 1 to %d bytes of UTF-8, no spaces, and differ from %q", option, i, name, stages.MaxName, Other)
	}
	return nil
}

// keepByPath marks the stages with these names as kept by path. It fails if a
// name is unknown or listed twice.
func keepByPath(t stages.Table, names []string) error {
	slots := uint32(0)
	for i, name := range names {
		at := slices.IndexFunc(t.Stages, func(m *stages.Metric) bool { return m.Name == name })
		switch {
		case at < 0:
			return fmt.Errorf("rollup: PathStages[%d]: %q is not in the table of stages: use one of its names, or add it to the stages", i, name)
		case t.Stages[at].PathIndex >= 0:
			return fmt.Errorf("rollup: PathStages[%d]: stage %q is listed twice: remove one", i, name)
		}
		t.Stages[at].PathIndex = i
		if slot := t.Stages[at].Slot; slot >= 0 {
			slots |= 1 << slot
		}
	}
	for _, m := range t.Stages {
		if m.PathIndex >= 0 {
			m.PathAncestors = m.Ancestors & slots
		}
	}
	return nil
}
