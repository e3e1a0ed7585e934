// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

// The slowest decisions are the first ones of all, sorted by what they took, by
// time, id, key and place, in whatever order the parts are read, and by however
// many workers. Counters do not count as time.
func TestSlowestTie(t *testing.T) {
	t.Parallel()
	stages := []string{"", "a", "b"}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		limit := 1 + r.IntN(8)
		inputs := []*input{{InputFile: InputFile{Name: "f"}}, {InputFile: InputFile{Name: "g"}}}
		var parts []*part
		for range 1 + r.IntN(6) {
			p := inputs[r.IntN(len(inputs))].newPart()
			p.lines = 1 + r.Int64N(10)
			parts = append(parts, p)
		}
		var all []SlowDecision
		workers := make([]slowest, 1+r.IntN(3))
		for i := range workers {
			workers[i].limit = limit
		}
		var reads []func()
		for _, p := range parts {
			w := &workers[r.IntN(len(workers))]
			var events []func()
			for line := range p.lines {
				e := &decisionlog.Event{
					Line: 1 + line, Time: r.Int64N(2), DecisionID: []byte(fmt.Sprint(r.IntN(2))), TraceID: []byte(fmt.Sprint(r.IntN(2))), Outcome: rollup.Outcome(r.IntN(2)),
					Measures: []decisionlog.Measure{{Metric: 0, Value: 9}, {Metric: 1, Value: r.Int64N(3)}, {Metric: 2, Value: r.Int64N(3)}},
				}
				if took := max(e.Measures[1].Value, e.Measures[2].Value); took > 0 {
					all = append(all, SlowDecision{
						Key: "k, l", ID: string(e.DecisionID), TraceID: string(e.TraceID), Time: e.Time, Outcome: e.Outcome, Took: took,
						Stages: timersOf(e.Measures, stages), Place: Place{p.input.Name, p.firstLine() + e.Line},
					})
				}
				events = append(events, func() { w.add([][]byte{[]byte("k"), []byte("l")}, e, p, stages) })
			}
			reads = append(reads, func() {
				for _, read := range events {
					read()
				}
			})
		}
		r.Shuffle(len(reads), func(i, j int) { reads[i], reads[j] = reads[j], reads[i] })
		for _, read := range reads {
			read()
		}
		got := slowest{limit: limit}
		for i := range workers {
			workers[i].place()
			got.merge(&workers[i])
			if kept := len(workers[i].kept); kept > limit {
				t.Fatalf("%d decisions are kept, want at most %d", kept, limit)
			}
		}
		slices.SortFunc(all, func(a, b SlowDecision) int {
			switch {
			case a.Took != b.Took:
				return int(b.Took - a.Took)
			case a.Time != b.Time:
				return int(a.Time - b.Time)
			case a.ID == b.ID && a.TraceID != b.TraceID:
				return cmp.Compare(a.TraceID, b.TraceID)
			case a.ID != b.ID:
				return slices.Compare([]byte(a.ID), []byte(b.ID))
			}
			return comparePlaces(a.Place, b.Place)
		})
		if want := all[:min(limit, len(all))]; len(want) > 0 && !reflect.DeepEqual(got.kept, want) {
			t.Fatalf("seed %d: got\n%+v\nwant\n%+v", seed, got.kept, want)
		}
	}
}

func TestSlowDecisionIDs(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]SlowDecision{"": {}, "a": {ID: "a"}, "trace b": {TraceID: "b"}, "a, trace b": {ID: "a", TraceID: "b"}} {
		if got := d.IDs(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
