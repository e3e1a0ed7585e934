// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/groupby"
)

// A change is judged if each side has at least
const (
	MinSlices = 8  // slices of time with durations, and
	MinBeyond = 10 // durations beyond the quantile: 10 of 1,000 are beyond p99
)

// Options selects what is compared. The zero value compares everything.
type Options struct {
	Stages []string              // only these; nil: all
	Key    func(key string) bool // only groups for whose key it returns true; nil: all

	// Confidence is the probability that all intervals of the comparison are
	// right, above 0 and below 1. 0: 0.95.
	Confidence float64

	// Thresholds are for Comparison.Exceeds. Their quantiles are compared too,
	// where they apply.
	Thresholds []Threshold
}

// Verdict says what is known about a change.
type Verdict string

// The verdicts, in the order in which rows are sorted.
const (
	Slower       Verdict = "slower"        // the whole interval is above 0
	Faster       Verdict = "faster"        // the whole interval is below 0
	NoDifference Verdict = "no difference" // a change would be no more than noise
	TooLittle    Verdict = "too little data"
)

var verdicts = []Verdict{Slower, Faster, NoDifference, TooLittle}

// Comparison is the changes from one report to another. The same reports have
// the same comparison.
type Comparison struct {
	By         string      // what the key of a row is: see report.Report
	Confidence float64     // of all intervals together
	Intervals  int         // the number of intervals
	Thresholds []Threshold // those of the options

	// Rows are sorted by verdict, by impact (the larger change first, for
	// better or worse), by key and by stage.
	Rows []Row
	// Only lists what is in one of the reports only: groups, and stages of
	// groups that are in both. It is sorted by key and stage.
	Only []Only
}

// Row is a stage of a group that is in both reports.
type Row struct {
	Key, Stage    string
	Before, After Side
	Changes       []Change // of p50, of p99, and of what thresholds ask for
	// Verdict is Slower if a quantile is slower, else Faster if one is faster,
	// else NoDifference if one could be judged.
	Verdict Verdict
	// Impact is the time, in ns, that this stage took after, without the stages
	// that it contains, less the time that as many would take at the mean
	// before.
	Impact int64
}

// Side is what one report has of a row.
type Side struct {
	Count  uint64 // of durations
	Slices int    // of time with durations; 0 if no duration has a time
}

// Change is how a quantile changed.
type Change struct {
	Quantile      float64 // such as 0.99
	Before, After float64 // ns

	// Relative is After/Before − 1, and lies from Low to High, the confidence
	// interval: 0.2 is 20 % more. Low is −1 and High is +Inf if the interval
	// has no such end, or if nothing was judged.
	Relative, Low, High float64
	Verdict             Verdict
}

// Only is a group, or a stage of a group, that is in one report only.
type Only struct {
	Key, Stage    string // Stage is "" for the whole group
	Before, After uint64 // decisions of the group, or durations of the stage; one is 0
}

// Reports compares two reports, and only reads them. It fails if their groups
// have different kinds of keys, or if an option is out of range.
func Reports(before, after *report.Report, o Options) (*Comparison, error) {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return nil, fmt.Errorf("confidence %v: must be above 0 and below 1", o.Confidence)
	}
	if before.By != after.By {
		return nil, fmt.Errorf("one report is by %s, the other by %s: nothing to compare", before.By, after.By)
	}
	c := &Comparison{By: before.By, Confidence: o.Confidence, Thresholds: slices.Clone(o.Thresholds)}
	sides := [2]side{sideOf(before, o), sideOf(after, o)}
	// Each interval depends on the number of intervals, so there are two
	// passes: all groups together may be too much to keep.
	for p := range c.pairs(sides, o) {
		for _, q := range p.quantiles {
			if p.enough(q) {
				c.Intervals++
			}
		}
	}
	alpha := (1 - o.Confidence) / float64(max(c.Intervals, 1))
	for p := range c.pairs(sides, o) {
		if err := p.compare(alpha); err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, p.Row)
	}
	slices.SortFunc(c.Rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(verdicts, a.Verdict), slices.Index(verdicts, b.Verdict)),
			cmp.Compare(math.Abs(float64(b.Impact)), math.Abs(float64(a.Impact))),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Stage, b.Stage))
	})
	return c, nil
}

// side is a report with the places of its groups by their keys.
type side struct {
	*report.Report
	places map[string]int
}

func sideOf(r *report.Report, o Options) side {
	s := side{r, map[string]int{}}
	for i, g := range r.Groups.Sums() {
		if o.Key == nil || o.Key(g.Key) {
			s.places[g.Key] = i
		}
	}
	return s
}

// group returns the group of a key, or nil.
func (s side) group(key string) *report.Group {
	if i, ok := s.places[key]; ok {
		return s.Groups.At(i)
	}
	return nil
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	return slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, m := range [2]map[string]V{a, b} {
			for key := range m {
				if !yield(key) {
					return
				}
			}
		}
	}))
}

// pairs returns what is in both reports, by key and stage, and fills c.Only
// with the rest.
func (c *Comparison) pairs(sides [2]side, o Options) iter.Seq[*pair] {
	return func(yield func(*pair) bool) {
		c.Only = nil
		for _, key := range union(sides[0].places, sides[1].places) {
			before, after := sides[0].group(key), sides[1].group(key)
			switch {
			case before == nil:
				c.Only = append(c.Only, Only{Key: key, After: after.Decisions})
				continue
			case after == nil:
				c.Only = append(c.Only, Only{Key: key, Before: before.Decisions})
				continue
			}
			was, is := stagesOf(before, o), stagesOf(after, o)
			for _, stage := range union(was, is) {
				switch b, a := was[stage], is[stage]; {
				case b == nil:
					c.Only = append(c.Only, Only{Key: key, Stage: stage, After: a.Durations.Count()})
				case a == nil:
					c.Only = append(c.Only, Only{Key: key, Stage: stage, Before: b.Durations.Count()})
				default:
					p := &pair{Row: Row{Key: key, Stage: stage, Verdict: TooLittle, Impact: impact(b, a)}, quantiles: o.quantiles(key, stage)}
					p.before, p.Before = timed(before, stage)
					p.after, p.After = timed(after, stage)
					if !yield(p) {
						return
					}
				}
			}
		}
	}
}

// stagesOf returns the stages of a group that are compared, by name.
func stagesOf(g *report.Group, o Options) map[string]*groupby.Stage {
	stages := map[string]*groupby.Stage{}
	for i := range g.Stages {
		s := &g.Stages[i]
		if s.Durations.Count() > 0 && (o.Stages == nil || slices.Contains(o.Stages, s.Name)) {
			stages[s.Name] = s
		}
	}
	return stages
}

// quantiles returns the quantiles to compare of a stage of a group.
func (o *Options) quantiles(key, stage string) []float64 {
	quantiles := []float64{0.5, 0.99}
	for _, t := range o.Thresholds {
		if t.applies(key, stage) {
			quantiles = append(quantiles, t.Quantile)
		}
	}
	slices.Sort(quantiles)
	return slices.Compact(quantiles)
}

// impact returns the impact of a row: see Row.
func impact(before, after *groupby.Stage) int64 {
	return integer(sum.Float(after.Self) - sum.Float(before.Self)/float64(before.Durations.Count())*float64(after.Durations.Count()))
}

// pair is a stage of a group that is in both reports, with its durations in
// slices of time.
type pair struct {
	Row
	before, after []*exphist.Snapshot
	quantiles     []float64
}

// enough reports whether there is enough to judge a quantile.
func (s Side) enough(q float64) bool {
	return s.Slices >= MinSlices && float64(s.Count)*min(q, 1-q) >= MinBeyond*(1-1e-9)
}

func (p *pair) enough(q float64) bool { return p.Before.enough(q) && p.After.enough(q) }

// compare fills in the changes and the verdict, with intervals whose error is
// at most alpha each.
func (p *pair) compare(alpha float64) error {
	if len(p.before) == 0 || len(p.after) == 0 {
		return nil
	}
	var all exphist.Snapshot
	for _, s := range slices.Concat(p.before, p.after) {
		if err := all.Merge(s); err != nil {
			return fmt.Errorf("%s of %q: %w", p.Stage, p.Key, err)
		}
	}
	g := gridOf(&all)
	if g.width == 0 {
		return nil // nothing but zeros
	}
	c := contrast{before: newBlocks(g, p.before), after: newBlocks(g, p.after)}
	for _, q := range p.quantiles {
		c.q = q
		ch := Change{Quantile: q, Low: -1, High: math.Inf(1), Verdict: TooLittle}
		ch.Before, ch.After = g.value(c.before.quantile(q)), g.value(c.after.quantile(q))
		ch.Relative = math.Expm1(c.estimate() * g.step)
		if p.enough(q) {
			low, high := c.interval(alpha)
			ch.Low, ch.High = math.Expm1(low*g.step), math.Expm1(high*g.step)
			ch.Verdict = judge(ch.Low, ch.High)
		}
		if slices.Index(verdicts, ch.Verdict) < slices.Index(verdicts, p.Verdict) {
			p.Verdict = ch.Verdict
		}
		p.Changes = append(p.Changes, ch)
	}
	return nil
}

// judge returns the verdict of an interval. An interval without an end has one
// only if it leaves out 0.
func judge(low, high float64) Verdict {
	switch {
	case low > 0:
		return Slower
	case high < 0:
		return Faster
	case low == -1 || math.IsInf(high, 1):
		return TooLittle
	}
	return NoDifference
}

// integer returns the nearest integer, from −math.MaxInt64 to math.MaxInt64.
func integer(f float64) int64 {
	switch f = math.Round(f); {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= -math.MaxInt64:
		return -math.MaxInt64
	}
	return int64(f)
}

// name returns a quantile's name, such as p99.9.
func name(q float64) string { return "p" + strconv.FormatFloat(q*100, 'g', 6, 64) }
