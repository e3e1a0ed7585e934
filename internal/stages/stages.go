// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages holds tables of stages that contain one another, and computes
// which part of a stage's time contained stages took. It also converts between
// names and keys of metrics.
package stages

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Entry is a stage. Parent names the stages that may contain it, separated by
// spaces. A Name that ends in * is a family. Help says what the stage measures.
type Entry struct{ Name, Parent, Help string }

// MaxContainers limits the number of stages that contain others, because each
// Folding has an array of them.
const MaxContainers = 32

// Table has the known stages, and the stages that contain them.
type Table struct {
	Stages   []*Metric // without families
	Families []*Metric // their names lack the *
}

// NewTable returns the table of the entries, whose names must differ. It fails
// if a parent is not among them, if a stage contains itself through others, or
// if too many stages contain others.
func NewTable(entries []Entry) (t Table, err error) {
	x := nesting{map[string][]string{}, map[string]int{}}
	byName := map[string]*Metric{}
	for _, s := range entries {
		x.parents[s.Name] = strings.Fields(s.Parent)
		m := NewMetric(Timer, s.Name, OtherColumn)
		if prefix, isFamily := strings.CutSuffix(s.Name, "*"); isFamily {
			m.Name = prefix
			t.Families = append(t.Families, m)
		} else {
			t.Stages = append(t.Stages, m)
		}
		byName[s.Name] = m
	}
	var names []string
	contains := map[string]bool{}
	for _, s := range slices.Backward(entries) {
		if _, err := x.depth(s.Name, nil); err != nil {
			return Table{}, err
		}
		names = append(names, s.Name)
		for _, p := range x.parents[s.Name] {
			contains[p] = true
		}
	}
	if n := len(contains); n > MaxContainers {
		return Table{}, fmt.Errorf("%d stages contain others: at most %d may: name fewer stages as parents", n, MaxContainers)
	}
	// Of stages that are equally deep, the last entry comes first.
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(x.depths[b], x.depths[a]) })
	slot := 0
	for _, name := range names {
		if contains[name] {
			byName[name].Slot = slot
			slot++
		}
	}
	for _, name := range slices.Backward(names) {
		for _, p := range x.parents[name] {
			byName[name].Ancestors |= byName[p].Ancestors | 1<<byName[p].Slot
		}
	}
	return t, nil
}

// Family returns the family that a name without an entry of its own belongs to,
// or nil.
func (t *Table) Family(name string) *Metric {
	for _, f := range t.Families {
		if strings.HasPrefix(name, f.Name) {
			return f
		}
	}
	return nil
}

// nesting says how stages are nested. Its keys are their names.
type nesting struct {
	parents map[string][]string
	depths  map[string]int
}

// depth returns the length of the longest chain of stages that contain a stage.
// inner lists the stages whose depth is being computed, each one inside the
// next. depth fails if the stage is among them, or if a parent is unknown.
func (x *nesting) depth(name string, inner []string) (int, error) {
	if depth, ok := x.depths[name]; ok {
		return depth, nil
	}
	if at := slices.Index(inner, name); at >= 0 {
		return 0, errors.New("stages cannot contain themselves: " + strings.Join(append(inner[at:], name), " in "))
	}
	depth := 0
	for _, p := range x.parents[name] {
		if _, ok := x.parents[p]; !ok || strings.HasSuffix(p, "*") {
			return 0, fmt.Errorf("stage %q has parent %q, which is not in the table of stages: add a Stage of that name", name, p)
		}
		d, err := x.depth(p, append(inner, name))
		if err != nil {
			return 0, err
		}
		depth = max(depth, d+1)
	}
	x.depths[name] = depth
	return depth, nil
}
