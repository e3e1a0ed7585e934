// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

// Restore gives empty groups the width of slices and the overflow of saved
// groups. It fails if these are invalid. [Groups.Insert] adds the saved groups.
func (g *Groups) Restore(width int64, overflow uint64) error {
	factor := width / g.width
	if width <= 0 || width != g.width*factor || bits.OnesCount64(uint64(factor)) != 1 {
		return fmt.Errorf("the width of the slices is %d ns: it must be %d ns, doubled any number of times", width, g.width)
	}
	g.width, g.overflow = width, overflow
	return g.sums.add(sums{counts: overflow})
}

// Insert adds slices of a saved group. It fails if no decisions can have these
// sums, if the limits do not allow the names, or if counts may exceed 64 bits.
// The groups must not be used then.
func (g *Groups) Insert(x *Group) error {
	if x.First > x.Last || (x.First == logread.NoTime) != (x.Last == logread.NoTime) {
		return fmt.Errorf("the times of group %.80q are invalid", x.Key)
	}
	if !x.Sizes.Valid() {
		return errors.New("no events can have these sizes")
	}
	to, width := &group{key: x.Key, period: period{x.First, x.Last}, sizes: x.Sizes}, g.width
	for _, e := range x.Errors {
		if e.Total == 0 {
			return fmt.Errorf("error code %.80q has no decisions", e.Code)
		}
		to.addError(codeOrOther(e.Code), e.Total)
		if err := g.sums.add(sums{counts: e.Total}); err != nil {
			return err
		}
	}
	for i := range x.Slices {
		s := &x.Slices[i]
		index := g.indexOf(s.Begin)
		if g.beginOf(index) != s.Begin {
			return fmt.Errorf("no slice of time begins at %d", s.Begin)
		}
		if s.Begin != logread.NoTime {
			g.begins[index] = struct{}{}
		}
		c := cell{index: index}
		if err := g.restoreCell(&c, s, &g.sums); err != nil {
			return err
		}
		to.cell(index).merge(&c)
	}
	if g.width != width {
		return errors.New("there are more names than the limits allow")
	}
	g.put(to)
	g.fit()
	g.names.sweep(g.byKey)
	return checkName(x.Key)
}

// restoreCell copies s into an empty cell. It fails if no decisions can have
// the sums of s.
func (g *Groups) restoreCell(c *cell, s *Slice, sum *sums) error {
	c.outcomes = s.Outcomes
	decisions := c.decisions()
	if decisions == 0 {
		return errors.New("a slice of time has no decisions")
	}
	if err := sum.add(sums{counts: decisions}); err != nil {
		return err
	}
	c.stages = make(list[stageSums], len(s.Stages))
	for i := range s.Stages {
		stage, to := &s.Stages[i], &c.stages[i].sums
		timers := addSaturated(stage.Durations.Count(), stage.Unfinished)
		if err := cmp.Or(checkName(stage.Name), sum.add(sums{counts: timers})); err != nil {
			return err
		}
		if stage.Took().Less(stage.Self) {
			return fmt.Errorf("stage %.80q took less time than its self time", stage.Name)
		}
		c.stages[i].metric = g.names.metricOf(stages.Timer, stage.Name, g.fit)
		to.unfinished, to.covered = stage.Unfinished, stage.Took().minus(stage.Self)
		to.durations.restore(&stage.Durations)
	}
	for _, counter := range s.Counters {
		if err := cmp.Or(checkName(counter.Name), sum.add(sums{raised: counter.Total})); err != nil {
			return err
		}
		if counter.Total == (Sum{}) {
			return fmt.Errorf("counter %.80q is 0", counter.Name)
		}
		c.counters = append(c.counters, entry[Sum]{g.names.metricOf(stages.Counter, counter.Name, g.fit), counter.Total})
	}
	return nil
}

// checkName returns an error if name cannot be a key, a stage or a counter.
func checkName(name string) error {
	if name == "" || len(name) > stages.MaxName || !utf8.ValidString(name) {
		return fmt.Errorf("invalid name %.80q: it must have 1 to %d bytes of UTF-8", name, stages.MaxName)
	}
	return nil
}
