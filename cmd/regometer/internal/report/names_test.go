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

// Names are kept with all their decisions, also after they were merged and saved.
// TestReadAlike has other orders.
func TestNames(t *testing.T) {
	defer func(most int) { maxNames = most }(maxNames)
	maxNames = 40
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		parts, want := [3]*names{{}, {}, {}}, map[string]Member{}
		for range 3000 {
			name, time, of := fmt.Sprint("client", r.IntN(1+int(seed)*10)), r.Int64N(1000)-500, outcome.Outcome(r.IntN(6))
			if r.IntN(50) == 0 {
				time = logread.NoTime
			}
			s, ok := want[name]
			if !ok {
				s = Member{Name: name, seen: unseen}
			}
			widen(&s.First, &s.Last, time)
			s.Outcomes[of]++
			want[name] = s
			parts[r.IntN(3)].add(hashText([]byte(name)), time, of)
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
		if n := len(saved.List); n > maxNames || n < min(len(want), maxNames/5) || len(want) <= maxNames && n < len(want) {
			t.Errorf("seed %d: %d of %d names", seed, n, len(want))
		}
		for _, s := range saved.List {
			if s != want[s.Name] {
				t.Errorf("got %+v, want %+v", s, want[s.Name])
			}
		}
	}
}
