// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package stages knows the stages of a decision that contain one another, and
// the keys of their timers.
package stages

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Entry names a stage and the stages that may contain it, separated by spaces.
type Entry struct{ Name, Parent string }

// MaxContainers limits the stages that contain others: each decision keeps an
// account of them on the stack.
const MaxContainers = 32

// Table is the known stages and what contains them.
type Table struct {
	Stages   []*Metric // without families
	Families []*Metric // named without their *
}

// NewTable returns the table of entries of different names. It fails if a
// parent is not among them, or stages contain one another.
func NewTable(entries []Entry) (t Table, err error) {
	parents, byName := map[string][]string{}, map[string]*Metric{}
	for _, s := range entries {
		parents[s.Name] = strings.Fields(s.Parent)
		m := NewMetric(Timer, s.Name, OtherColumn)
		if prefix, isFamily := strings.CutSuffix(s.Name, "*"); isFamily {
			m.Name = prefix
			t.Families = append(t.Families, m)
		} else {
			t.Stages = append(t.Stages, m)
		}
		byName[s.Name] = m
	}
	depths, err := depthsOf(entries, parents)
	if err != nil {
		return Table{}, err
	}
	containers := 0
	for _, s := range entries {
		for _, p := range parents[s.Name] {
			if m := byName[p]; m.Slot < 0 {
				m.Slot = containers
				containers++
			}
		}
	}
	if containers > MaxContainers {
		return Table{}, fmt.Errorf("%d stages contain others: at most %d may", containers, MaxContainers)
	}
	for _, s := range entries {
		for _, a := range ancestors(s.Name, parents, depths) {
			byName[s.Name].Ancestors = append(byName[s.Name].Ancestors, byName[a].Slot)
		}
	}
	return t, nil
}

// Family returns the family of instrumentation that a name without its own
// entry belongs to, or nil.
func (t *Table) Family(name string) *Metric {
	for _, f := range t.Families {
		if strings.HasPrefix(name, f.Name) {
			return f
		}
	}
	return nil
}

// depthsOf returns for each stage the largest number of stages that contain it
// and one another.
func depthsOf(entries []Entry, parents map[string][]string) (map[string]int, error) {
	depths := map[string]int{}
	for len(depths) < len(entries) {
		before := len(depths)
		for _, s := range entries {
			depth, known := 0, true
			for _, p := range parents[s.Name] {
				if _, ok := parents[p]; !ok || strings.HasSuffix(p, "*") {
					return nil, fmt.Errorf("stage %q has parent %q, which is not in the table of stages: add a Stage of that name", s.Name, p)
				}
				d, ok := depths[p]
				depth, known = max(depth, d+1), known && ok
			}
			if known {
				depths[s.Name] = depth
			}
		}
		if len(depths) == before {
			return nil, circle(entries, parents, depths)
		}
	}
	return depths, nil
}

// circle returns the error that names stages that contain one another. Of the
// parents of a stage without a depth, one has none either.
func circle(entries []Entry, parents map[string][]string, depths map[string]int) error {
	without := func(name string) bool { _, ok := depths[name]; return !ok }
	name := entries[slices.IndexFunc(entries, func(s Entry) bool { return without(s.Name) })].Name
	var way []string
	for !slices.Contains(way, name) {
		way = append(way, name)
		name = parents[name][slices.IndexFunc(parents[name], without)]
	}
	way = append(way[slices.Index(way, name):], name)
	return errors.New("stages cannot contain one another: " + strings.Join(way, " in "))
}

// ancestors returns all stages that may contain a stage, the innermost first:
// each before those that may contain it.
func ancestors(name string, parents map[string][]string, depths map[string]int) []string {
	found := slices.Clone(parents[name])
	for i := 0; i < len(found); i++ {
		for _, p := range parents[found[i]] {
			if !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(depths[b], depths[a]) })
	return found
}
