// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// snapshotOf returns a snapshot of these values.
func snapshotOf(values ...int64) *exphist.Snapshot {
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	for _, v := range values {
		h.Record(v)
	}
	var s exphist.Snapshot
	h.Snapshot(&s)
	return &s
}

// sample returns n slices of m values, times factor.
func sample(rng *rand.Rand, n, m int, factor float64) (all []*exphist.Snapshot) {
	for range n {
		values := make([]int64, m)
		level := 0.1 * rng.NormFloat64()
		for i := range values {
			values[i] = int64(factor * math.Exp(13+level+0.7*rng.NormFloat64()))
		}
		all = append(all, snapshotOf(values...))
	}
	return all
}

// stage is a stage of a group that a test makes.
type stage struct {
	key, name string
	slices    []*exphist.Snapshot
	self      uint64
}

// reportOf returns a report of these stages. All decisions are allowed.
func reportOf(t testing.TB, stages ...stage) *report.Report {
	var groups []report.Group
	index := map[string]int{}
	for _, s := range stages {
		k, ok := index[s.key]
		if !ok {
			k = len(groups)
			index[s.key] = k
			groups = append(groups, report.Group{Key: s.key})
		}
		g := &groups[k]
		total := groupby.Stage{Name: s.name, Self: groupby.Sum{Lo: s.self}}
		for i, snapshot := range s.slices {
			if i == len(g.Slices) {
				n := snapshot.Count()
				g.Slices = append(g.Slices, groupby.Slice{Begin: int64(i) * 60e9, Outcomes: [6]uint64{n}})
				g.Outcomes[outcome.Allowed] += n
				g.Decisions += n
			}
			g.Slices[i].Stages = append(g.Slices[i].Stages, groupby.Stage{Name: s.name, Durations: *snapshot})
			if err := total.Durations.Merge(snapshot); err != nil {
				t.Fatal(err)
			}
		}
		g.Stages = append(g.Stages, total)
	}
	return &report.Report{By: "path", Groups: report.GroupsOf(groups...)}
}

// decide gives the decisions of a group new outcomes.
func decide(g *report.Group, of func(slice int, n uint64) [6]uint64) {
	g.Outcomes = [6]uint64{}
	for i := range g.Slices {
		s := &g.Slices[i]
		s.Outcomes = of(i, s.Outcomes[outcome.Allowed])
		for k, n := range s.Outcomes {
			g.Outcomes[k] += n
		}
	}
}

// example returns two reports, in which a is slower, b is faster, c, e and f
// are the same, d has too little, and the rest is in one only.
func example(t testing.TB) (before, after *report.Report) {
	rng := rand.New(rand.NewPCG(11, 12))
	take := func(n, m int, factor float64) []*exphist.Snapshot { return sample(rng, n, m, factor) }
	before = reportOf(t,
		stage{"a", "rego_query_eval", take(60, 100, 1), 6_000_000},
		stage{"b", "rego_query_eval", take(60, 100, 1), 6_000_000},
		stage{"c", "rego_query_eval", take(60, 100, 1), 6_000_000},
		stage{"e", "rego_query_eval", take(20, 100, 1), 2_000_000},
		stage{"f", "rego_query_eval", take(20, 100, 1), 2_000_000},
		stage{"d", "rego_query_eval", take(7, 100, 1), 0},
		stage{"a", "gone", take(1, 3, 1), 0},
		stage{"old", "rego_query_eval", take(1, 5, 1), 0})
	after = reportOf(t,
		stage{"a", "rego_query_eval", take(60, 100, 2), 12_000_000},
		stage{"b", "rego_query_eval", take(60, 200, 0.5), 8_000_000},
		stage{"c", "rego_query_eval", take(60, 100, 1), 6_000_000},
		stage{"e", "rego_query_eval", take(20, 100, 1), 1_000_000},
		stage{"f", "rego_query_eval", take(20, 100, 1), 4_000_000},
		stage{"d", "rego_query_eval", take(60, 100, 9), 0},
		stage{"a", "new", take(1, 1, 1), 0},
		stage{"young", "rego_query_eval", take(1, 6, 1), 0})
	return before, after
}

func compareOf(t testing.TB, before, after *report.Report, thresholds ...Threshold) *Comparison {
	t.Helper()
	c, err := Reports(before, after, thresholds...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReports(t *testing.T) {
	before, after := example(t)
	c := compareOf(t, before, after)
	want := []struct {
		key     string
		verdict Verdict
		impact  float64
	}{{"a", Slower, 6_000_000}, {"b", Faster, -4_000_000}, {"f", Noise, 2_000_000}, {"e", Noise, -1_000_000}, {"c", Noise, 0}, {"d", TooLittle, 0}}
	if len(c.Stages) != len(want) {
		t.Fatalf("%d rows, want %d", len(c.Stages), len(want))
	}
	for i, w := range want {
		r := c.Stages[i]
		if r.Key != w.key || r.Verdict != w.verdict || r.Impact != w.impact {
			t.Errorf("row %d: %s %s %v, want %v", i, r.Key, r.Verdict, r.Impact, w)
		}
		for _, ch := range r.Changes {
			if ch.Verdict != TooLittle && !(ch.Low < ch.Change && ch.Change < ch.High) {
				t.Errorf("%s: %v from %v to %v", r.Key, ch.Change, ch.Low, ch.High)
			}
			if math.Abs(ch.After/ch.Before-1-ch.Change) > 1e-9 {
				t.Errorf("%s: from %v to %v is not %v", r.Key, ch.Before, ch.After, ch.Change)
			}
		}
	}
	if c.Intervals != 15 { // two for each of five stages, and one for each of five groups
		t.Errorf("%d intervals, want 15", c.Intervals)
	}
	if r := c.Stages[0]; math.Abs(r.Changes[0].Change-1) > 0.1 || r.Before != (Side{6000, 60}) {
		t.Errorf("a: %+v", r)
	}
	only := []Only{{"a", "gone", 3, 0}, {"a", "new", 0, 1}, {"old", "", 5, 0}, {"young", "", 0, 6}}
	if !reflect.DeepEqual(c.Only, only) {
		t.Errorf("only %v, want %v", c.Only, only)
	}
	if again := compareOf(t, before, after); !reflect.DeepEqual(again, c) {
		t.Error("a second comparison differs")
	}
}

func TestOptions(t *testing.T) {
	before, after := example(t)
	all := compareOf(t, before, after)
	onlyA := func(r *report.Report) *report.Report {
		return &report.Report{By: r.By, Groups: report.GroupsOf(*r.Groups.At(0)), Interrupted: true}
	}
	one := compareOf(t, onlyA(before), onlyA(after))
	if len(one.Stages) != 1 || one.Stages[0].Key != "a" || len(one.Only) != 2 || !one.Partly || all.Partly {
		t.Errorf("%+v", one)
	}
	if one.Stages[0].Changes[0].Low <= all.Stages[0].Changes[0].Low {
		t.Error("fewer intervals are not narrower")
	}
	threshold, err := ParseThreshold("p90:rego_query_eval@b>+5%")
	if err != nil {
		t.Fatal(err)
	}
	more := compareOf(t, before, after, threshold)
	for _, r := range more.Stages {
		want := 2
		if r.Key == "b" {
			want = 3
		}
		if len(r.Changes) != want {
			t.Errorf("%s: %d quantiles, want %d", r.Key, len(r.Changes), want)
		}
	}
	if more.Intervals != all.Intervals+1 {
		t.Errorf("%d intervals, want %d", more.Intervals, all.Intervals+1)
	}
}

// TestDecisions: which outcomes there are, by how much they changed, and how
// many decisions that is.
func TestDecisions(t *testing.T) {
	before, after := example(t)
	after.Interrupted = true
	decide(before.Groups.At(1), func(_ int, n uint64) [6]uint64 { return [6]uint64{n / 2, n / 2} })
	decide(after.Groups.At(1), func(_ int, n uint64) [6]uint64 { return [6]uint64{n} })
	decide(after.Groups.At(5), func(_ int, n uint64) [6]uint64 { return [6]uint64{n - 1, 1} })
	decide(after.Groups.At(0), func(_ int, n uint64) [6]uint64 { return [6]uint64{n - 5, 0, 0, 2, 0, 3} })
	c := compareOf(t, before, after, Threshold{Name: "error", Key: "c"})
	type change struct {
		key, name     string
		before, after float64
		verdict       Verdict
	}
	want := []change{
		{"b", "allowed", 0.5, 1, More}, {"b", "denied", 0.5, 0, Fewer},
		{"a", "allowed", 1, 0.95, Fewer}, {"a", "undefined", 0, 0.02, More}, {"a", "cancelled", 0, 0.03, More},
		{"d", "allowed", 1, 0.99, TooLittle}, {"d", "denied", 0, 0.01, TooLittle}, // more decisions than those of c
		{"c", "allowed", 1, 1, Noise}, {"c", "error", 0, 0, Noise},
		{"e", "allowed", 1, 1, Noise}, {"f", "allowed", 1, 1, Noise},
	}
	var got []change
	for _, r := range c.Decisions {
		for _, ch := range r.Changes {
			got = append(got, change{r.Key, ch.Name, ch.Before, ch.After, ch.Verdict})
			if ch.Verdict != TooLittle && (ch.Change != ch.After-ch.Before || ch.Low > ch.Change || ch.High < ch.Change) {
				t.Errorf("%s %+v", r.Key, ch)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if b, a := c.Decisions[0], c.Decisions[1]; b.Impact != 6000 || a.Impact != 300 || a.Verdict != Changed || b.After != (Side{12000, 60}) || !c.Partly {
		t.Errorf("%+v, %+v, %t", a, b, c.Partly)
	}
}

// TestTooLittle: at the least that there must be, and one below.
func TestTooLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	tests := []struct {
		slices, count int
		want          [2]bool // whether p50 and p99 are judged
	}{
		{8, 125, [2]bool{true, true}}, {7, 1000, [2]bool{}}, {8, 124, [2]bool{true, false}},
		{10, 2, [2]bool{true, false}}, {9, 2, [2]bool{}}, {1, 5000, [2]bool{}},
	}
	for _, tt := range tests {
		few := reportOf(t, stage{"a", "s", sample(rng, tt.slices, tt.count, 1), 0})
		many := reportOf(t, stage{"a", "s", sample(rng, 50, 200, 1), 0})
		for _, sides := range [][2]*report.Report{{few, many}, {many, few}} {
			c := compareOf(t, sides[0], sides[1])
			judged := 0
			if r := c.Decisions[0]; tt.slices >= MinSlices && tt.slices*tt.count >= 2*MinBeyond {
				judged++ // all are allowed
			} else if ch := r.Changes[0]; r.Verdict != TooLittle || ch.Low != -1 || !math.IsInf(ch.High, 1) {
				t.Errorf("%d slices of %d: %+v", tt.slices, tt.count, r)
			}
			for i, want := range tt.want {
				if want {
					judged++
				} else if ch := c.Stages[0].Changes[i]; ch.Verdict != TooLittle || ch.Low != -1 || !math.IsInf(ch.High, 1) {
					t.Errorf("%d slices of %d: %+v", tt.slices, tt.count, ch)
				}
			}
			if c.Intervals != judged {
				t.Errorf("%d slices of %d: %d intervals, want %d", tt.slices, tt.count, c.Intervals, judged)
			}
		}
	}
}

// TestNoTime: durations without a time are in no block, and are shown if there
// are no others. Empty reports do not panic.
func TestNoTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	untimed := reportOf(t, stage{"a", "s", sample(rng, 1, 100, 1), 0})
	untimed.Groups.At(0).Slices[0].Begin = logread.NoTime
	c := compareOf(t, untimed, untimed)
	if r := c.Stages[0]; r.Verdict != TooLittle || r.Before != (Side{100, 0}) || r.Changes[0].Before == 0 {
		t.Errorf("without times: %+v", r)
	}
	some := reportOf(t, stage{"a", "s", sample(rng, 10, 100, 1), 0})
	some.Groups.At(0).Slices[0].Begin = logread.NoTime
	c = compareOf(t, some, some)
	if r := c.Stages[0]; r.Before != (Side{900, 9}) {
		t.Errorf("some without times: %+v", r)
	}
	some.Groups.At(0).Slices = nil
	if c = compareOf(t, some, some); len(c.Stages) != 1 || c.Stages[0].Verdict != TooLittle {
		t.Errorf("without slices: %+v", c)
	}
	zeros := reportOf(t, stage{"a", "s", []*exphist.Snapshot{snapshotOf(0, 0)}, 0})
	if c = compareOf(t, zeros, zeros); c.Stages[0].Verdict != TooLittle {
		t.Errorf("zeros: %+v", c)
	}
	if c = compareOf(t, &report.Report{}, &report.Report{}); len(c.Stages) != 0 {
		t.Errorf("nothing: %+v", c)
	}
}

func TestJudge(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name      string
		low, high float64
		want      Verdict
	}{
		{"p50", 0.1, 0.2, Slower}, {"p50", 0.1, inf, Slower}, {"p99", -0.2, -0.1, Faster}, {"p99", -1, -0.1, Faster},
		{"p50", -0.1, 0.1, Noise}, {"p50", -0.5, 5, Noise}, {"p50", -1, 0.1, TooLittle}, {"p50", -0.1, inf, TooLittle},
		{"error", 0.1, 1, More}, {"error", -1, -0.1, Fewer}, {"error", -0.09, 0, Noise}, {"error", 0, 0.11, TooLittle}, {"error", -0.11, 0.05, TooLittle},
	}
	for _, tt := range tests {
		if got := (&Change{Name: tt.name, Low: tt.low, High: tt.high}).judge(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
