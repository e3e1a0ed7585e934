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

// The quantiles of the least and the largest that there can be. TestAccuracy and
// TestReadContainers test the others.
func TestQuantiles(t *testing.T) {
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
