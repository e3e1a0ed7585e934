// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/groupby"
)

// What there must be on either side, at least, for a change to be judged: so
// many slices of time with durations, and so many durations beyond the quantile
// (of 1,000 durations, 10 are beyond p99).
const (
	MinSlices = 8
	MinBeyond = 10
)

// Options says what is compared. The zero value compares everything.
type Options struct {
	Stages []string              // only these; nil: all
	Key    func(key string) bool // only groups of such a key; nil: all

	// Confidence is the probability that all intervals of the comparison are
	// right, above 0 and below 1. 0: 0.95.
	Confidence float64

	// Thresholds are those that Comparison.Exceeds will be asked about: so
	// their quantiles are compared too, where they apply.
	Thresholds []Threshold
}

// Verdict says what is known about a change.
type Verdict string

// The verdicts, in the order in which rows are sorted.
const (
	Slower       Verdict = "slower"        // the whole interval is above 0
	Faster       Verdict = "faster"        // the whole interval is below 0
	NoDifference Verdict = "no difference" // none that would be more than noise
	TooLittle    Verdict = "too little data"
)

var verdicts = []Verdict{Slower, Faster, NoDifference, TooLittle}

// Comparison is what changed from one report to another. Nothing changes it,
// and it is the same each time for the same reports.
type Comparison struct {
	By         string      // what the key of a row is: see report.Report
	Confidence float64     // of all intervals together
	Intervals  int         // how many there are
	Thresholds []Threshold // those of the options

	// Rows are sorted by verdict, by impact (the larger change first, whichever
	// way), by key and by stage.
	Rows []Row
	// Only is what has no row since it is in one of the reports only: groups,
	// and stages of groups that are in both. It is sorted by key and stage.
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
	// Impact is how much more time, in ns, this stage took after, without the
	// stages that it contains, than as many would have at the mean before.
	Impact int64
}

// Side is what one report has of a row: so many durations, in so many slices of
// time. If none has a time, Slices is 0.
type Side struct {
	Count  uint64
	Slices int
}

// Change is how a quantile changed.
type Change struct {
	Quantile      float64 // such as 0.99
	Before, After float64 // ns

	// Relative is After/Before − 1, and lies from Low to High, the confidence
	// interval: 0.2 is 20 % more. Low is −1 and High is +Inf where there is no
	// end to what is possible, and where nothing was judged.
	Relative, Low, High float64
	Verdict             Verdict
}

// Only is a group, or a stage of a group, that is in one report only: so many
// decisions of the group, or durations of the stage, before and after, of which
// one is 0.
type Only struct {
	Key, Stage    string // Stage is "" for the whole group
	Before, After uint64
}

// Reports compares two reports, which are only read. It is an error if their
// groups have different kinds of keys, or if an option is out of range.
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
	keys := keysOf(before, after, o)
	// Twice, since each interval depends on how many there are: all groups
	// together may be too much to keep.
	for pair := range c.pairs(before, after, keys, o) {
		for _, q := range pair.quantiles {
			if pair.enough(q) {
				c.Intervals++
			}
		}
	}
	alpha := (1 - o.Confidence) / float64(max(c.Intervals, 1))
	for pair := range c.pairs(before, after, keys, o) {
		row, err := pair.row(alpha)
		if err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, row)
	}
	slices.SortFunc(c.Rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(verdicts, a.Verdict), slices.Index(verdicts, b.Verdict)),
			cmp.Compare(math.Abs(float64(b.Impact)), math.Abs(float64(a.Impact))),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Stage, b.Stage))
	})
	return c, nil
}

// pair is a stage of a group that is in both reports.
type pair struct {
	key           string
	before, after half
	quantiles     []float64
}

// half is one side of a pair.
type half struct {
	group *report.Group
	stage *groupby.Stage
}

// place is where the group of a key is in the two reports, -1: nowhere.
type place struct {
	key    string
	groups [2]int
}

// keysOf returns the keys of both reports, sorted.
func keysOf(before, after *report.Report, o Options) []place {
	places := map[string][2]int{}
	for side, r := range [2]*report.Report{before, after} {
		for i, g := range r.Groups.Sums() {
			key := g.Key
			if o.Key != nil && !o.Key(key) {
				continue
			}
			both, ok := places[key]
			if !ok {
				both = [2]int{-1, -1}
			}
			both[side] = i
			places[key] = both
		}
	}
	keys := make([]place, 0, len(places))
	for key, groups := range places {
		keys = append(keys, place{key, groups})
	}
	slices.SortFunc(keys, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	return keys
}

// pairs goes through what is in both reports, and fills c.Only with the rest.
func (c *Comparison) pairs(before, after *report.Report, keys []place, o Options) iter.Seq[*pair] {
	return func(yield func(*pair) bool) {
		c.Only = nil
		for _, at := range keys {
			var both [2]*report.Group
			for side, r := range [2]*report.Report{before, after} {
				if at.groups[side] >= 0 {
					both[side] = r.Groups.At(at.groups[side])
				}
			}
			switch {
			case both[0] == nil:
				c.Only = append(c.Only, Only{Key: at.key, After: both[1].Decisions})
				continue
			case both[1] == nil:
				c.Only = append(c.Only, Only{Key: at.key, Before: both[0].Decisions})
				continue
			}
			for _, p := range c.stages(at.key, both, o) {
				if !yield(&p) {
					return
				}
			}
		}
	}
}

// stages returns the stages that are in both groups, by name, and adds the rest
// to c.Only.
func (c *Comparison) stages(key string, both [2]*report.Group, o Options) (pairs []pair) {
	stages := map[string][2]*groupby.Stage{}
	for side, g := range both {
		for i := range g.Stages {
			s := &g.Stages[i]
			if s.Durations.Count() == 0 || o.Stages != nil && !slices.Contains(o.Stages, s.Name) {
				continue
			}
			both := stages[s.Name]
			both[side] = s
			stages[s.Name] = both
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(stages)) {
		switch s := stages[stage]; {
		case s[0] == nil:
			c.Only = append(c.Only, Only{Key: key, Stage: stage, After: s[1].Durations.Count()})
		case s[1] == nil:
			c.Only = append(c.Only, Only{Key: key, Stage: stage, Before: s[0].Durations.Count()})
		default:
			p := pair{key: key, before: half{both[0], s[0]}, after: half{both[1], s[1]}, quantiles: []float64{0.5, 0.99}}
			for _, t := range o.Thresholds {
				if t.applies(key, stage) && !slices.Contains(p.quantiles, t.Quantile) {
					p.quantiles = append(p.quantiles, t.Quantile)
				}
			}
			slices.Sort(p.quantiles)
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// snapshots returns the durations in slices of time, and what they come to.
func (h half) snapshots() ([]*exphist.Snapshot, Side) {
	s, ok := timed(h.group, h.stage.Name)
	side := Side{Slices: len(s)}
	if !ok {
		side.Slices = 0
	}
	for _, s := range s {
		side.Count += s.Count()
	}
	return s, side
}

// enough reports whether there is enough to judge a quantile.
func (s Side) enough(q float64) bool {
	return s.Slices >= MinSlices && float64(s.Count)*min(q, 1-q) >= MinBeyond*(1-1e-9)
}

func (p *pair) enough(q float64) bool {
	_, before := p.before.snapshots()
	_, after := p.after.snapshots()
	return before.enough(q) && after.enough(q)
}

// row compares, with intervals of an error of at most alpha each.
func (p *pair) row(alpha float64) (Row, error) {
	r := Row{Key: p.key, Stage: p.before.stage.Name, Verdict: TooLittle, Impact: p.impact()}
	var before, after []*exphist.Snapshot
	before, r.Before = p.before.snapshots()
	after, r.After = p.after.snapshots()
	if len(before) == 0 || len(after) == 0 {
		return r, nil // no slices at all
	}
	var all exphist.Snapshot
	for _, s := range slices.Concat(before, after) {
		if err := all.Merge(s); err != nil {
			return r, fmt.Errorf("%s of %q: %w", r.Stage, p.key, err)
		}
	}
	g := gridOf(&all)
	if g.width == 0 {
		return r, nil // nothing but zeros
	}
	c := contrast{before: newBlocks(g, before), after: newBlocks(g, after)}
	for _, q := range p.quantiles {
		c.q = q
		ch := Change{Quantile: q, Low: -1, High: math.Inf(1), Verdict: TooLittle}
		ch.Before, ch.After = g.value(c.before.quantile(q)), g.value(c.after.quantile(q))
		ch.Relative = math.Expm1(c.estimate() * g.step)
		if r.Before.enough(q) && r.After.enough(q) {
			low, high := c.interval(alpha)
			ch.Low, ch.High = math.Expm1(low*g.step), math.Expm1(high*g.step)
			ch.Verdict = judge(ch.Low, ch.High)
		}
		if slices.Index(verdicts, ch.Verdict) < slices.Index(verdicts, r.Verdict) {
			r.Verdict = ch.Verdict
		}
		r.Changes = append(r.Changes, ch)
	}
	return r, nil
}

// judge returns the verdict of an interval. One without an end tells nothing
// unless it leaves out 0.
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

func (p *pair) impact() int64 {
	before, after := p.before.stage, p.after.stage
	more := sum.Float(after.Self) - sum.Float(before.Self)/float64(before.Durations.Count())*float64(after.Durations.Count())
	return integer(more)
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
