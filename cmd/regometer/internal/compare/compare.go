// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
)

// The limits below which a change is not judged. They apply to each side.
const (
	MinSlices = contrast.MinSlices // slices of time with durations, or decisions
	// MinBeyond durations are beyond the quantile: 10 of 1,000 are beyond p99. An
	// outcome needs as many decisions as a median.
	MinBeyond = 10
	// MaxPoints is how far, in percentage points, the interval of an outcome
	// without a change may reach.
	MaxPoints = 10
)

// confidence is also the expected share of the changes found that are not noise.
const confidence = 1 - contrast.Error

// Verdict is the judgement of a change.
type Verdict string

// The verdicts, in the order in which rows are sorted.
const (
	Changed   Verdict = "changed"      // of a group's decisions: one of the outcomes is more or fewer
	Slower    Verdict = "slower"       // the whole interval is above 0
	Faster    Verdict = "faster"       // the whole interval is below 0
	More      Verdict = "more"         // of an outcome: the whole interval is above 0
	Fewer     Verdict = "fewer"        // of an outcome: the whole interval is below 0
	Noise     Verdict = "may be noise" // no change is shown, and none is ruled out
	TooLittle Verdict = "too little data"
)

var verdicts = []Verdict{Changed, Slower, Faster, More, Fewer, Noise, TooLittle}

func (v Verdict) rank() int { return slices.Index(verdicts, v) }

// Comparison has the changes from one report to another. It depends only on the
// reports and the thresholds.
type Comparison struct {
	By         string // the kind of the rows' keys, as in report.Report
	Intervals  int    // the number of confidence intervals; see the package for what they claim
	Partly     bool   // a report has only a part of its log
	Thresholds []Threshold

	// Decisions has a row for each group that is in both reports, Stages one
	// for each stage of such a group. Rows are sorted by verdict (those without a
	// change are equal), by impact (the larger change first, for better or worse),
	// by key and by stage.
	Decisions, Stages []Row
	// Only lists what only one report has, sorted by key and by stage.
	Only []Only
}

// Row is a group that is in both reports, or a stage of it.
type Row struct {
	Key   string `json:"-"`
	Stage string `json:"stage,omitempty"` // "" for the outcomes of the group's decisions
	// Verdict is the first of those of the changes, or Changed.
	Verdict Verdict `json:"verdict"`
	// Impact of a stage is the time that it took after, in ns and without the
	// stages that it contains, minus the time that the same number would have
	// taken at the mean before. Impact of a group is the number of decisions
	// after that would have had another outcome with the shares before.
	Impact  float64  `json:"impact"`
	Before  Side     `json:"before"`
	After   Side     `json:"after"`
	Changes []Change `json:"-"` // of p50, of p99, and of the quantiles of thresholds; or of outcomes
}

// Side is one report's part of a row.
type Side struct {
	Count  uint64 `json:"count"`  // of durations, or decisions
	Slices int    `json:"slices"` // of time with any; 0 if none has a time
}

// Change is how a quantile, or the share of an outcome, changed.
type Change struct {
	Name          string  // such as "p99" or "denied"
	Before, After float64 // ns, or shares

	// Change is After/Before − 1 of a quantile: 0.2 is 20 % more. It is After −
	// Before of a share: 0.05 is 5 percentage points more. The confidence
	// interval is from Low to High. If it has no such end, Low is −1, and High is
	// +Inf for a quantile and 1 for a share. If the change was not judged, they
	// are −1 and +Inf.
	Change, Low, High float64
	Verdict           Verdict
}

// Only is a group that only one report has, or a stage of a group in both.
type Only struct {
	Key   string `json:"-"`
	Stage string `json:"stage,omitempty"`
	// Before and After are decisions, or durations of the stage. One of them is 0.
	Before uint64 `json:"before"`
	After  uint64 `json:"after"`
}

// Reports compares two reports and does not change them. Rows that thresholds
// apply to also have the quantiles and outcomes of these. It fails if the groups
// of the reports have different kinds of keys.
func Reports(before, after *report.Report, thresholds ...Threshold) (*Comparison, error) {
	if before.By != after.By {
		return nil, fmt.Errorf("the report before is grouped by %s, and the one after by %s: make both with the same --by", before.By, after.By)
	}
	c := &Comparison{By: before.By, Partly: before.Partly() || after.Partly(), Thresholds: thresholds}
	both := c.match(before, after)
	// Each interval depends on all tests. There are two passes, because all
	// groups together may need too much memory.
	b := budget{error: contrast.Error}
	for _, at := range both {
		rows, _ := c.pairs(before.Groups.At(at[0]), after.Groups.At(at[1]))
		for _, p := range rows {
			for i, ch := range p.Changes {
				if p.enough(ch.Name) {
					b.add(p.count(), p.tests[i](0).P)
				}
			}
		}
	}
	b.discover()
	c.Intervals = len(b.tests)
	for _, at := range both {
		rows, only := c.pairs(before.Groups.At(at[0]), after.Groups.At(at[1]))
		c.Only = append(c.Only, only...)
		for i, p := range rows {
			if p.judge(b.alpha(p.count())); i == 0 {
				c.Decisions = append(c.Decisions, p.Row)
			} else {
				c.Stages = append(c.Stages, p.Row)
			}
		}
	}
	slices.SortFunc(c.Only, func(a, b Only) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Stage, b.Stage)) })
	for _, rows := range [][]Row{c.Decisions, c.Stages} {
		slices.SortFunc(rows, func(a, b Row) int {
			return cmp.Or(
				cmp.Compare(min(a.Verdict.rank(), Noise.rank()), min(b.Verdict.rank(), Noise.rank())),
				cmp.Compare(math.Abs(b.Impact), math.Abs(a.Impact)),
				cmp.Compare(a.Key, b.Key), cmp.Compare(a.Stage, b.Stage))
		})
	}
	return c, nil
}

// match returns the indices of the groups that are in both reports, by key. It
// adds the others to c.Only.
func (c *Comparison) match(before, after *report.Report) (both [][2]int) {
	places := map[string][2]int{} // plus 1
	for side, r := range []*report.Report{before, after} {
		for i, g := range r.Groups.Sums() {
			at := places[g.Key]
			at[side] = i + 1
			places[g.Key] = at
		}
	}
	for _, key := range slices.Sorted(maps.Keys(places)) {
		switch i, k := places[key][0]-1, places[key][1]-1; {
		case k < 0:
			c.Only = append(c.Only, Only{Key: key, Before: before.Groups.Sum(i).Decisions})
		case i < 0:
			c.Only = append(c.Only, Only{Key: key, After: after.Groups.Sum(k).Decisions})
		default:
			both = append(both, [2]int{i, k})
		}
	}
	return both
}

// pair is a row with the tests of its changes.
type pair struct {
	Row
	tests []func(alpha float64) contrast.Difference
}

// pairs returns the outcomes of a group, and then its stages that both reports
// have. It also returns the stages that only one report has.
func (c *Comparison) pairs(before, after *report.Group) (both []*pair, only []Only) {
	both = append(both, c.outcomes(before, after))
	var names []string
	for _, g := range []*report.Group{before, after} {
		for i := range g.Stages {
			names = append(names, g.Stages[i].Name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		b, a := report.Stage(before.Stages, name), report.Stage(after.Stages, name)
		switch n, m := b.Durations.Count(), a.Durations.Count(); {
		case n > 0 && m > 0:
			p := c.stage(before, after, name)
			p.Impact = math.Round(report.Float(a.Self) - float64(m)/float64(n)*report.Float(b.Self))
			both = append(both, p)
		case n+m > 0:
			only = append(only, Only{before.Key, name, n, m})
		}
	}
	return both, only
}

// pairOf returns a row, and what the slices of time of its two sides have.
func pairOf[T any](before, after *report.Group, stage string, of func(*groupby.Slice) (T, uint64)) (p *pair, b, a []T) {
	p = &pair{Row: Row{Key: before.Key, Stage: stage, Verdict: TooLittle}}
	b, p.Before = timed(before, of)
	a, p.After = timed(after, of)
	return p, b, a
}

// timed returns what the slices of time have, in the order of time, and how much.
// If none has anything, it returns what the slice without a time has.
func timed[T any](g *report.Group, of func(*groupby.Slice) (T, uint64)) (all []T, side Side) {
	parts := report.Timed(g.Slices)
	for i := range parts {
		if has, n := of(&parts[i]); n > 0 {
			all = append(all, has)
			side.Count, side.Slices = side.Count+n, side.Slices+1
		}
	}
	if all == nil && len(parts) < len(g.Slices) {
		if has, n := of(&g.Slices[0]); n > 0 {
			return []T{has}, Side{Count: n}
		}
	}
	return all, side
}

// stage returns the row of a stage.
func (c *Comparison) stage(before, after *report.Group, stage string) *pair {
	p, b, a := pairOf(before, after, stage, func(s *groupby.Slice) (*exphist.Snapshot, uint64) {
		d := &report.Stage(s.Stages, stage).Durations
		return d, d.Count()
	})
	x := contrast.NewQuantiles(b, a)
	for _, name := range quantileNames {
		if x != nil && (name == "p50" || name == "p99" || c.limits(p, name)) { // else all durations are 0
			p.add(name, func(alpha float64) contrast.Difference { return x.Compare(quantiles[name], alpha) })
		}
	}
	return p
}

// outcomes returns the row of a group's decisions.
func (c *Comparison) outcomes(before, after *report.Group) *pair {
	p, b, a := pairOf(before, after, "", func(s *groupby.Slice) ([6]uint64, uint64) { return s.Outcomes, report.Decisions(s.Outcomes) })
	counts := func(all [][6]uint64, k int) (counts []contrast.Count) {
		for _, outcomes := range all {
			counts = append(counts, contrast.Count{N: float64(report.Decisions(outcomes)), Has: float64(outcomes[k])})
		}
		return counts
	}
	grown := float64(after.Decisions) / float64(before.Decisions)
	for k, name := range outcomeNames {
		if before.Outcomes[k] > 0 || after.Outcomes[k] > 0 || c.limits(p, name) {
			p.add(name, func(alpha float64) contrast.Difference { return contrast.Shares(counts(b, k), counts(a, k), alpha) })
		}
		p.Impact += max(0, float64(after.Outcomes[k])-grown*float64(before.Outcomes[k]))
	}
	p.Impact = math.Round(p.Impact)
	return p
}

// limits reports whether a threshold is for a change of a row.
func (c *Comparison) limits(p *pair, name string) bool {
	return slices.ContainsFunc(c.Thresholds, func(t Threshold) bool { return t.Name == name && t.applies(p.Stage, p.Key) })
}

func (p *pair) add(name string, test func(alpha float64) contrast.Difference) {
	p.Changes, p.tests = append(p.Changes, Change{Name: name}), append(p.tests, test)
}

// enough reports whether both sides have enough data to judge a change.
func (p *pair) enough(name string) bool {
	q := cmp.Or(quantiles[name], 0.5)
	enough := func(s Side) bool {
		return s.Slices >= MinSlices && float64(s.Count)*min(q, 1-q) >= MinBeyond*(1-1e-9)
	}
	return enough(p.Before) && enough(p.After)
}

// count returns the number of durations or decisions of both sides.
func (p *pair) count() float64 { return float64(p.Before.Count) + float64(p.After.Count) }

// judge sets the changes and the verdict.
func (p *pair) judge(alpha float64) {
	for i := range p.Changes {
		ch := &p.Changes[i]
		d := p.tests[i](alpha)
		*ch = Change{ch.Name, d.Before, d.After, d.After/d.Before - 1, d.Low, d.High, TooLittle}
		if ch.share() {
			ch.Change = d.After - d.Before
		}
		if p.enough(ch.Name) {
			ch.Verdict = ch.judge()
		} else {
			ch.Low, ch.High = -1, math.Inf(1)
		}
		if ch.Verdict.rank() < p.Verdict.rank() {
			p.Verdict = ch.Verdict
		}
	}
	if p.Verdict == More || p.Verdict == Fewer {
		p.Verdict = Changed
	}
}

// share reports whether a change is that of a share.
func (c *Change) share() bool { return quantiles[c.Name] == 0 }

// judge returns the verdict of an interval. An interval that has no end, or that
// of a share that reaches far, says too little unless it leaves out 0.
func (c *Change) judge() Verdict {
	up, down, least, most := Slower, Faster, -1., math.MaxFloat64
	if c.share() {
		up, down, least, most = More, Fewer, -MaxPoints/100., MaxPoints/100.
	}
	switch {
	case c.Low > 0:
		return up
	case c.High < 0:
		return down
	case c.Low <= least || c.High > most:
		return TooLittle
	}
	return Noise
}
