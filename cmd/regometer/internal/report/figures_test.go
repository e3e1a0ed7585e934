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

// The quantiles of the least and the largest that there can be.
func TestQuantiles(t *testing.T) {
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
	for _, f := range byTime(&g) {
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
		if got, ok := queryCacheHits(&g); got != test.want || ok != test.ok {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
}

func TestOutermost(t *testing.T) {
	handler, decision := stageOf("server_handler", 5), stageOf("sdk_decision_eval", 6)
	short, long := stageOf("rego_query_parse", 3), stageOf("rego_query_eval", 2, 2)
	same, zero := stageOf("timer_x", 1, 3), stageOf("zero", 0)
	none := groupby.Stage{Name: "server_handler", Unfinished: 3}
	for _, c := range []struct {
		stages []groupby.Stage
		want   string
	}{
		{nil, ""},
		{[]groupby.Stage{none}, ""},
		{[]groupby.Stage{none, zero}, "zero"},
		{[]groupby.Stage{long, decision, handler}, "server_handler"},
		{[]groupby.Stage{none, long, decision}, "sdk_decision_eval"},
		{[]groupby.Stage{short, long, none}, "rego_query_eval"},
		{[]groupby.Stage{long, short}, "rego_query_eval"},
		{[]groupby.Stage{same, long}, "timer_x"},
		{[]groupby.Stage{long, same}, "rego_query_eval"},
		{[]groupby.Stage{stageOf("large", 1<<63-1, 1<<63-1, 1<<63-1), stageOf("small", 1<<63-1)}, "large"},
	} {
		got := ""
		if s := Outermost(c.stages); s != nil {
			got = s.Name
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSumOrder(t *testing.T) {
	sums := []groupby.Sum{{}, {Lo: 1}, {Lo: math.MaxUint64}, {Hi: 1}, {Hi: 1, Lo: 1}, {Hi: math.MaxUint64}}
	for i, b := range sums[1:] {
		if a := sums[i]; compareSums(a, b) != -1 || compareSums(b, a) != 1 || compareSums(a, a) != 0 {
			t.Errorf("%v and %v", a, b)
		}
	}
	if s := (groupby.Sum{Hi: 3, Lo: 1 << 63}); Float(s) != 0x38p60 || s.String() != "64563604257983430656" {
		t.Errorf("%v is %g", s, Float(s))
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole groupby.Sum
		want        float64
	}{
		{groupby.Sum{}, groupby.Sum{}, 0},
		{groupby.Sum{Lo: 1}, groupby.Sum{}, 0},
		{groupby.Sum{Lo: 1}, groupby.Sum{Lo: 4}, 0.25},
		{groupby.Sum{Lo: 1 << 63}, groupby.Sum{Hi: 1}, 0.5},
	} {
		if got := Share(c.part, c.whole); got != c.want {
			t.Errorf("Share(%v, %v) = %v, want %v", c.part, c.whole, got, c.want)
		}
	}
}
