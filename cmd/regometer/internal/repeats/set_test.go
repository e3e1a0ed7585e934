// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package repeats

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/internal/logread"
)

// A set has the keys of a map, whatever they are, or a sample of them.
func TestSet(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, id := range map[string]func() uint64{
		"random":   r.Uint64,
		"one id":   func() uint64 { return 1 << 63 },
		"one part": func() uint64 { return r.Uint64() >> 30 },
		"few":      func() uint64 { return hash.Of(0, []byte{byte(r.IntN(200))}) },
	} {
		x, want := New(new(Set)), map[key]int64{}
		for range 200_000 {
			k := key{max(id(), 1), uint64(r.IntN(1<<20)) << checkBits}
			x.set.put(k)
			want[k]++
		}
		got := x.Describe(200_000)
		repeated := 200_000 - int64(len(want))
		if got.Count != repeated || got.Sample != 0 {
			t.Errorf("%s: %+v, want %d repeats", name, got, repeated)
		}
		ids := map[uint64]bool{}
		for k := range want {
			ids[k.id] = true
		}
		if n := int64(len(want) - len(ids)); got.Reused != n {
			t.Errorf("%s: %+v, want %d with the id of another", name, got, n)
		}
		var keys []key
		for i := range x.set.shards {
			keys = append(keys, x.set.shards[i].keys...)
		}
		if !slices.Equal(keys, slices.SortedFunc(maps.Keys(want), compareKeys)) {
			t.Errorf("%s: the keys are others, or not in order", name)
		}
	}
}

// A million keys are all in a set, and those beyond its limit are not.
func TestSetLimit(t *testing.T) {
	x := New(new(Set))
	for i := range uint64(MaxKeys) + 1 {
		if i == uint64(MaxKeys) {
			if got := x.Describe(int64(i)); got != (Counts{}) || x.set.level.Load() != 0 {
				t.Errorf("%d: %+v", i, got)
			}
		}
		x.Add(&logread.Event{DecisionID: binary.LittleEndian.AppendUint64(nil, i), Time: int64(i)}, false)
	}
	x.Flush()
	if got := x.Describe(int64(MaxKeys) + 1); got.Count != 0 || got.Sample < 500_000 || got.Sample > 550_000 || x.set.level.Load() != 1 {
		t.Errorf("%+v", got)
	}
}
