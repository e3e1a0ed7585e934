// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
)

// ranks are the quantiles of a stage.
var (
	ranks = [...]float64{0.5, 0.9, 0.95, 0.99, 0.999}
	// QuantileTitles are the titles of the columns of [Quantiles].
	QuantileTitles = []string{"p50", "p90", "p95", "p99", "p99.9", "max"}
)

// byTime returns the stages of a group by self time, descending, and by name.
func byTime(g *groupby.Group) []*groupby.Stage {
	stages := make([]*groupby.Stage, len(g.Stages))
	for i := range g.Stages {
		stages[i] = &g.Stages[i]
	}
	slices.SortStableFunc(stages, func(a, b *groupby.Stage) int { return byTimeAndKey(a.Self, b.Self, a.Name, b.Name) })
	return stages
}

// quantiles returns the quantiles of ranks as integers, from the least to the
// greatest value. All are 0 if there are no values.
func quantiles(d *exphist.Snapshot) (q [len(ranks)]int64) {
	var values [len(ranks)]float64
	for i, v := range d.AppendQuantiles(values[:0], ranks[:]...) {
		q[i] = d.Max()
		if v = math.Round(v); v < float64(q[i]) {
			q[i] = max(int64(v), d.Min())
		}
	}
	return q
}

// Quantiles returns the cells of a table with the quantiles and the maximum of a
// stage, which may be nil.
func Quantiles(s *groupby.Stage) []string {
	if s == nil || s.Durations.Count() == 0 { // no timer has finished
		return slices.Repeat([]string{text.None}, len(QuantileTitles))
	}
	var cells []string
	for _, ns := range quantiles(&s.Durations) {
		cells = append(cells, text.Duration(float64(ns)))
	}
	return append(cells, text.Duration(float64(s.Durations.Max())))
}

// StageTable returns a table of the stages of a group.
func StageTable(g *groupby.Group) *text.Table {
	t := text.NewTable(1, append([]string{"stage", "share", "count"}, QuantileTitles...)...)
	for i, drop := range [...]int{4, 6, 2, 1, 0, 3, 5} { // from the count on
		t.Columns[2+i].Drop = drop
	}
	for _, s := range byTime(g) {
		t.Add(append([]string{s.Name, text.Percent(Share(s.Self, g.Time)), text.Count(s.Durations.Count())}, Quantiles(s)...)...)
	}
	return t
}

// Stage returns the stage with a name, or an empty stage.
func Stage(stages []groupby.Stage, name string) *groupby.Stage {
	for i := range stages {
		if stages[i].Name == name {
			return &stages[i]
		}
	}
	return new(groupby.Stage)
}

// The stages and counters that findings and tables look at.
const (
	handlerStage    = "server_handler"
	decisionStage   = "sdk_decision_eval"
	inputStage      = "rego_input_parse"
	compileStage    = "rego_query_compile"
	evaluationStage = "rego_query_eval"
	httpStage       = "rego_builtin_http_send"

	queryHits = "server_query_cache_hit"
)

// queryCacheHits returns the share of a group's queries that the server found
// compiled in its cache. It returns false if the decisions are not those of a
// server, or if none has a query to compile.
func queryCacheHits(g *groupby.Group) (float64, bool) {
	hits := 0.0
	for _, c := range g.Counters {
		if c.Name == queryHits {
			hits = Float(c.Total)
		}
	}
	compiled := Stage(g.Stages, compileStage).Durations.Count()
	ofServer := Stage(g.Stages, handlerStage).Durations.Count() > 0
	return hits / max(1, hits+float64(compiled)), hits > 0 || compiled > 0 && ofServer
}

// wholes are the stages that contain a whole decision, the outermost last.
var wholes = []string{decisionStage, handlerStage}

// Outermost returns the stage that stands for whole decisions. It is
// server_handler if that has durations, else sdk_decision_eval, else the first
// stage whose durations have the largest sum. Outermost returns nil if no stage
// has durations.
func Outermost(stages []groupby.Stage) (found *groupby.Stage) {
	compare := func(a, b *groupby.Stage) int {
		return cmp.Or(cmp.Compare(slices.Index(wholes, a.Name), slices.Index(wholes, b.Name)), compareSums(a.Took(), b.Took()))
	}
	for i := range stages {
		if s := &stages[i]; s.Durations.Count() > 0 && (found == nil || compare(s, found) > 0) {
			found = s
		}
	}
	return found
}

// Float returns a sum within the precision of a float64.
func Float(s groupby.Sum) float64 { return math.Ldexp(float64(s.Hi), 64) + float64(s.Lo) }

// Share returns part divided by whole, or 0 if the whole is 0.
func Share(part, whole groupby.Sum) float64 {
	if whole == (groupby.Sum{}) {
		return 0
	}
	return Float(part) / Float(whole)
}

// Ratio is Share for counts.
func Ratio(part, whole uint64) float64 {
	return Share(groupby.Sum{Lo: part}, groupby.Sum{Lo: whole})
}

func byTimeAndKey(a, b groupby.Sum, aKey, bKey string) int {
	return cmp.Or(compareSums(b, a), cmp.Compare(aKey, bKey))
}

// compareSums is cmp.Compare of sums.
func compareSums(a, b groupby.Sum) int {
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo))
}
