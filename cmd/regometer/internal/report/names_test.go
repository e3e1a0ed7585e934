// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// Whatever the order and the parts of the decisions, the same names are kept,
// each with all its decisions, also after it was saved.
func TestNames(t *testing.T) {
	defer func(most int) { maxNames = most }(maxNames)
	maxNames = 40
	type decision struct {
		name    string
		time    int64
		outcome outcome.Outcome
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		all, want := make([]decision, 3000), map[string]Member{}
		for i := range all {
			d := decision{fmt.Sprint("client", r.IntN(1+int(seed)*10)), r.Int64N(1000) - 500, outcome.Outcome(r.IntN(6))}
			if r.IntN(50) == 0 {
				d.time = logread.NoTime
			}
			all[i] = d
			s, ok := want[d.name]
			if !ok {
				s = Member{Name: d.name, seen: unseen}
			}
			widen(&s.First, &s.Last, d.time)
			s.Outcomes[d.outcome]++
			want[d.name] = s
		}
		var before savedNames
		for round := range 4 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			parts := [3]*names{{}, {}, {}}
			for _, d := range all {
				parts[r.IntN(1+round%3)].add(hashText([]byte(d.name)), d.time, d.outcome)
			}
			for _, part := range parts {
				part.flush()
			}
			parts[0].merge(parts[1])
			parts[2].merge(parts[0])
			saved := parts[2].save()
			if again, err := saved.restore(); err != nil || !reflect.DeepEqual(again.save(), saved) {
				t.Fatal(err)
			}
			if round > 0 && !reflect.DeepEqual(saved, before) {
				t.Fatalf("seed %d: %+v, and in another order %+v", seed, saved, before)
			}
			before = saved
		}
		if n := len(before.List); n > maxNames || n < min(len(want), maxNames/5) || len(want) <= maxNames && n < len(want) {
			t.Errorf("seed %d: %d of %d names", seed, n, len(want))
		}
		for _, s := range before.List {
			if s != want[s.Name] {
				t.Errorf("got %+v, want %+v", s, want[s.Name])
			}
		}
	}
}
