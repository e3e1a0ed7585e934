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
	"github.com/regometer/regometer/internal/app/contrast"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

// The limits below which a change is not judged. They apply to each side.
const (
	MinSlices = contrast.MinSlices // slices of time with durations
	MinBeyond = 10                 // durations beyond the quantile: 10 of 1,000 are beyond p99
)

// Options selects what is compared. The zero value compares everything.
type Options struct {
	Stages []string // the stages to compare; nil stands for all
	// Thresholds are for Comparison.Exceed. Rows that they apply to also
	// compare their quantiles.
	Thresholds []Threshold
}

// confidence is the probability that a comparison of like with like finds no
// change. It is also the expected share of the changes found that are not
// noise.
const confidence = 0.95

// Verdict is the judgement of a change.
type Verdict string

// The verdicts, in the order in which rows are sorted.
const (
	Slower       Verdict = "slower"        // the whole interval is above 0
	Faster       Verdict = "faster"        // the whole interval is below 0
	NoDifference Verdict = "no difference" // the change may be noise
	TooLittle    Verdict = "too little data"
)

var verdicts = []Verdict{Slower, Faster, NoDifference, TooLittle}

// Comparison has the changes from one report to another. It depends only on the
// reports and the options.
type Comparison struct {
	By         string // the kind of the rows' keys, as in report.Report
	Intervals  int    // the number of confidence intervals; see the package for what they claim
	Thresholds []Threshold

	// Rows are sorted by verdict, by impact (the larger change first, for
	// better or worse), by key and by stage.
	Rows []Row
	// Only lists the groups that only one report has, and the stages that only
	// one report has of a group in both. It is sorted by key and stage.
	Only []Only
}

// Row is a stage of a group that is in both reports.
type Row struct {
	Key   string `json:"-"`
	Stage string `json:"stage"`
	// Verdict is Slower if a quantile is slower, else Faster if one is faster,
	// else NoDifference if one could be judged.
	Verdict Verdict `json:"verdict"`
	// Impact is the time that the stage took after, in ns and without the
	// stages that it contains, minus the time that the same number would have
	// taken at the mean before.
	Impact  int64    `json:"impact_ns"`
	Before  Side     `json:"before"`
	After   Side     `json:"after"`
	Changes []Change `json:"-"` // of p50, of p99, and of the quantiles of thresholds
}

// Side is one report's part of a row.
type Side struct {
	Count  uint64 `json:"count"`  // of durations
	Slices int    `json:"slices"` // of time with durations; 0 if no duration has a time
}

// Change is how a quantile changed.
type Change struct {
	Quantile      float64 // such as 0.99
	Before, After float64 // ns

	// Relative is After/Before − 1: 0.2 is 20 % more. The confidence interval
	// is from Low to High. Low is −1 and High is +Inf if the interval has no
	// such end, or if the change was not judged.
	Relative, Low, High float64
	Verdict             Verdict
}

// Only is a group, or a stage of a group, that only one report has.
type Only struct {
	Key   string `json:"-"`
	Stage string `json:"stage,omitempty"` // "" for the whole group
	// Before and After are decisions of the group, or durations of the stage.
	// One of them is 0.
	Before uint64 `json:"before"`
	After  uint64 `json:"after"`
}

// Reports compares two reports and does not change them. It fails if their
// groups have different kinds of keys.
func Reports(before, after *report.Report, o Options) (*Comparison, error) {
	if before.By != after.By {
		return nil, fmt.Errorf("one report is grouped by %s, the other by %s: make both with the same --by", before.By, after.By)
	}
	c := &Comparison{By: before.By, Thresholds: slices.Clone(o.Thresholds)}
	// Each interval depends on all tests. There are two passes, because all
	// groups together may need too much memory.
	b := budget{error: 1 - confidence}
	for p := range c.pairs(before, after, o) {
		x, err := p.contrast()
		if err != nil {
			return nil, err
		}
		for _, q := range p.quantiles {
			if x != nil && p.enough(q) {
				b.add(p, x.P(q))
			}
		}
	}
	b.discover()
	c.Intervals = len(b.tests)
	for p := range c.pairs(before, after, o) {
		if err := p.compare(&b); err != nil {
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

// groupsOf returns the index of each group of a report, by key.
func groupsOf(r *report.Report) map[string]int {
	places := map[string]int{}
	for i, g := range r.Groups.Sums() {
		places[g.Key] = i
	}
	return places
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// pairs returns the stages that are in both reports, by key and stage. It fills
// c.Only with the groups and stages that are in one report.
func (c *Comparison) pairs(before, after *report.Report, o Options) iter.Seq[*pair] {
	return func(yield func(*pair) bool) {
		c.Only = nil
		was, is := groupsOf(before), groupsOf(after)
		for _, key := range union(was, is) {
			i, inBefore := was[key]
			j, inAfter := is[key]
			switch {
			case !inAfter:
				c.Only = append(c.Only, Only{Key: key, Before: before.Groups.Sum(i).Decisions})
				continue
			case !inBefore:
				c.Only = append(c.Only, Only{Key: key, After: after.Groups.Sum(j).Decisions})
				continue
			}
			b, a := before.Groups.At(i), after.Groups.At(j)
			stagesBefore, stagesAfter := stagesOf(b, o), stagesOf(a, o)
			for _, stage := range union(stagesBefore, stagesAfter) {
				sb, sa := stagesBefore[stage], stagesAfter[stage]
				if sb.Durations.Count() == 0 || sa.Durations.Count() == 0 {
					c.Only = append(c.Only, Only{key, stage, sb.Durations.Count(), sa.Durations.Count()})
					continue
				}
				p := &pair{Row: Row{Key: key, Stage: stage, Verdict: TooLittle, Impact: impact(&sb, &sa)}, quantiles: o.quantiles(key, stage)}
				p.before, p.Before = timed(b, stage)
				p.after, p.After = timed(a, stage)
				if !yield(p) {
					return
				}
			}
		}
	}
}

// stagesOf returns the stages of a group that are compared, by name.
func stagesOf(g *report.Group, o Options) map[string]groupby.Stage {
	stages := map[string]groupby.Stage{}
	for _, s := range g.Stages {
		if s.Durations.Count() > 0 && (o.Stages == nil || slices.Contains(o.Stages, s.Name)) {
			stages[s.Name] = s
		}
	}
	return stages
}

// quantiles returns the quantiles to compare for a stage of a group.
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
	return integer(report.Float(after.Self) - report.Float(before.Self)/float64(before.Durations.Count())*float64(after.Durations.Count()))
}

// pair is a stage of a group that is in both reports, with its durations in
// slices of time.
type pair struct {
	Row
	before, after []*exphist.Snapshot
	quantiles     []float64
}

// enough reports whether the side has enough data to judge a quantile.
func (s Side) enough(q float64) bool {
	return s.Slices >= MinSlices && float64(s.Count)*min(q, 1-q) >= MinBeyond*(1-1e-9)
}

func (p *pair) enough(q float64) bool { return p.Before.enough(q) && p.After.enough(q) }

// durations returns the number of durations of both sides.
func (p *pair) durations() float64 { return float64(p.Before.Count) + float64(p.After.Count) }

// timed returns the durations of a stage in each slice of time that has some,
// in the order of time. If no slice has some, it returns the durations that
// have no time.
func timed(g *report.Group, stage string) (snapshots []*exphist.Snapshot, of Side) {
	var rest *exphist.Snapshot
	for i := range g.Slices {
		for j := range g.Slices[i].Stages {
			s := &g.Slices[i].Stages[j]
			switch {
			case s.Name != stage || s.Durations.Count() == 0:
			case g.Slices[i].Begin == logread.NoTime:
				rest = &s.Durations
			default:
				snapshots = append(snapshots, &s.Durations)
				of.Count += s.Durations.Count()
			}
		}
	}
	of.Slices = len(snapshots)
	if len(snapshots) == 0 && rest != nil {
		snapshots, of.Count = []*exphist.Snapshot{rest}, rest.Count()
	}
	return snapshots, of
}

// compare sets the changes and the verdict.
func (p *pair) compare(b *budget) error {
	x, err := p.contrast()
	if x == nil {
		return err
	}
	for _, q := range p.quantiles {
		d := x.Compare(q, b.alpha(p.durations()))
		ch := Change{q, d.Before, d.After, d.After/d.Before - 1, d.Low, d.High, judge(d.Low, d.High)}
		if !p.enough(q) {
			ch.Low, ch.High, ch.Verdict = -1, math.Inf(1), TooLittle
		}
		if slices.Index(verdicts, ch.Verdict) < slices.Index(verdicts, p.Verdict) {
			p.Verdict = ch.Verdict
		}
		p.Changes = append(p.Changes, ch)
	}
	return nil
}

// contrast returns the quantiles of the two sides, or nil if there is nothing to
// compare.
func (p *pair) contrast() (*contrast.Quantiles, error) {
	x, err := contrast.NewQuantiles(p.before, p.after)
	if err != nil {
		return nil, fmt.Errorf("%s of %q: %w", p.Stage, p.Key, err)
	}
	return x, nil
}

// judge returns the verdict of an interval. If the interval has no end, it says
// too little unless it leaves out 0.
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

// name returns a quantile's name, such as p99.9.
func name(q float64) string { return "p" + strconv.FormatFloat(q*100, 'g', 6, 64) }
