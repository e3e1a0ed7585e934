// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/groupby"
)

// figures are what is written of a stage. Times are in ns.
type figures struct {
	Name              string
	Count, Unfinished uint64
	Sum, Self         groupby.Sum
	Min, Max          int64
	Quantiles         [len(ranks)]int64
}

// ranks are the quantiles that are written, and quantileNames their names.
var (
	ranks         = [...]float64{0.5, 0.9, 0.95, 0.99, 0.999}
	quantileNames = [len(ranks)]string{"p50", "p90", "p95", "p99", "p99.9"}
)

const (
	p50 = 0
	p99 = 3
)

// figures returns those of a stage.
func (g *Group) figures(s *groupby.Stage) figures {
	d := &s.Durations
	var of distribution = d
	if exact := g.exact[s.Name]; uint64(len(exact)) == d.Count() && len(exact) > 0 {
		of = sortedDurations(exact)
	}
	hi, lo := d.Sum()
	return figures{
		Name:       s.Name,
		Count:      d.Count(),
		Unfinished: s.Unfinished,
		Sum:        groupby.Sum{Hi: hi, Lo: lo},
		Self:       s.Self,
		Min:        d.Min(),
		Max:        d.Max(),
		Quantiles:  quantiles(of),
	}
}

// byTime returns the figures of a group's stages by self time, descending, and
// by name.
func byTime(g *Group) []figures {
	stages := make([]figures, 0, len(g.Stages))
	for i := range g.Stages {
		stages = append(stages, g.figures(&g.Stages[i]))
	}
	slices.SortFunc(stages, func(a, b figures) int {
		return cmp.Or(sum.Compare(b.Self, a.Self), cmp.Compare(a.Name, b.Name))
	})
	return stages
}

// distribution is what quantiles can be had of, a histogram or sorted values:
// see exphist.Snapshot.
type distribution interface {
	Count() uint64
	Min() int64
	Max() int64
	AppendQuantiles(dst []float64, qs ...float64) []float64
}

// quantiles returns the quantiles of ranks, rounded to integers from the least
// to the greatest value; all 0 if there are no values.
func quantiles(d distribution) (q [len(ranks)]int64) {
	if d.Count() == 0 {
		return q
	}
	var values [len(ranks)]float64
	for i, v := range d.AppendQuantiles(values[:0], ranks[:]...) {
		switch v = math.Round(v); {
		case v <= float64(d.Min()):
			q[i] = d.Min()
		case v >= float64(d.Max()):
			q[i] = d.Max()
		default:
			q[i] = int64(v)
		}
	}
	return q
}

// stage returns a stage of a group, an empty one if the group has none of that
// name.
func stage(stages []groupby.Stage, name string) *groupby.Stage {
	for i := range stages {
		if stages[i].Name == name {
			return &stages[i]
		}
	}
	return new(groupby.Stage)
}

// counter returns the total of a counter, 0 if there is none of that name.
func counter(counters []groupby.Counter, name string) groupby.Sum {
	for _, c := range counters {
		if c.Name == name {
			return c.Total
		}
	}
	return groupby.Sum{}
}

// The stages and counters that more is known of than their names.
const (
	handlerStage    = "server_handler"
	decisionStage   = "sdk_decision_eval"
	inputStage      = "rego_input_parse"
	compileStage    = "rego_query_compile"
	evaluationStage = "rego_query_eval"
	httpStage       = "rego_builtin_http_send"

	queryHits    = "server_query_cache_hit"
	httpHits     = "rego_builtin_http_send_interquery_cache_hits"
	httpRequests = "rego_builtin_http_send_network_requests"
)

// queryCacheHits returns which part of a group's queries the server found
// compiled in its cache. It is false if the group's decisions are not a
// server's, or ask for no query that is compiled.
func queryCacheHits(g *groupby.Group) (float64, bool) {
	hits := counter(g.Counters, queryHits)
	compiled := stage(g.Stages, compileStage).Durations.Count()
	ofServer := stage(g.Stages, handlerStage).Durations.Count() > 0
	if hits == (groupby.Sum{}) && (compiled == 0 || !ofServer) {
		return 0, false
	}
	return sum.Float(hits) / (sum.Float(hits) + float64(compiled)), true
}
