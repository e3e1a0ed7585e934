// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
)

func TestQuantiles(t *testing.T) {
	var values []int64
	h := exphist.New(exphist.Nanosecond)
	for i := range int64(1000) {
		values = append(values, 1_000_000+i*i)
		h.Record(values[i])
	}
	exact := exactQuantiles(values)
	if want := [...]int64{values[499], values[899], values[949], values[989], values[998]}; exact != want {
		t.Errorf("%v, want %v", exact, want)
	}
	var s exphist.Snapshot
	h.Snapshot(&s)
	for i, q := range quantiles(&s) {
		if e := s.Layout().RelativeError(); math.Abs(float64(q-exact[i])) > e*float64(exact[i])+1 {
			t.Errorf("%s: %d, exactly %d", quantileNames[i], q, exact[i])
		}
	}
	if q := exactQuantiles([]int64{3}); q != [...]int64{3, 3, 3, 3, 3} {
		t.Errorf("%v of 3", q)
	}
	most := stageOf("s", math.MaxInt64, math.MaxInt64).Durations
	if q := quantiles(&most); q[0] != math.MaxInt64 || q[4] != math.MaxInt64 {
		t.Errorf("%v of the largest integer", q)
	}
	if q := quantiles(new(exphist.Snapshot)); q != [len(ranks)]int64{} {
		t.Errorf("%v of nothing", q)
	}
}

func TestByTime(t *testing.T) {
	g := groupOf("p", [6]uint64{3}, stageOf("b", 2), stageOf("a", 2), stageOf("c", 3))
	g.Stages = append(g.Stages, groupby.Stage{Name: "d", Self: groupby.Sum{Hi: 1}})
	var names []string
	for _, f := range g.ByTime() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"d", "c", "a", "b"}) {
		t.Error(names)
	}
}

func TestQueryCacheHits(t *testing.T) {
	compiled := func(n int) groupby.Stage { return stageOf(compileStage, same(n, time.Millisecond)...) }
	handler := stageOf(handlerStage, time.Millisecond)
	for name, test := range map[string]struct {
		hits   uint64
		stages []groupby.Stage
		want   float64
		ok     bool
	}{
		"all":                   {9, []groupby.Stage{handler}, 1, true},
		"most":                  {9, []groupby.Stage{handler, compiled(1)}, 0.9, true},
		"none":                  {0, []groupby.Stage{handler, compiled(3)}, 0, true},
		"nothing compiled":      {0, []groupby.Stage{handler}, 0, false},
		"a program, no server":  {0, []groupby.Stage{compiled(3)}, 0, false},
		"a server with no time": {1, []groupby.Stage{compiled(3)}, 0.25, true},
	} {
		g := groupOf("p", [6]uint64{10}, test.stages...)
		g.Counters = []groupby.Counter{{Name: queryHits, Total: groupby.Sum{Lo: test.hits}}}
		if got, ok := queryCacheHits(&g.Group); got != test.want || ok != test.ok {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
}
