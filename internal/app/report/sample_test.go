// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/regometer/regometer/decisionlog"
)

// However decisions are distributed and merged, the sample is the same, and has
// no more than its limits.
func TestSampleMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, bytes := range []int{10, 900} { // of names: few and too many
		whole := newSample()
		parts := []*decisionSample{newSample(), newSample(), newSample()}
		for i := range 60_000 {
			e := &decisionlog.Event{Time: int64(i), DecisionID: fmt.Appendf(nil, "%016x", random.Uint64()),
				Path: []byte("p"), RequestedBy: fmt.Appendf(nil, "%0*d:1", bytes, random.IntN(100))}
			whole.add(e, nil)
			parts[random.IntN(3)].add(e, nil)
		}
		parts[2].merge(parts[0])
		parts[2].merge(parts[1])
		for _, s := range []*decisionSample{whole, parts[2]} {
			s.sort()
			if len(s.kept) > sampleSize || len(s.text) > sampleBytes || len(s.kept) < 3000 {
				t.Errorf("%d decisions with %d bytes of names are kept", len(s.kept), len(s.text))
			}
		}
		if whole.limit.Load() != parts[2].limit.Load() || !reflect.DeepEqual(whole.kept, parts[2].kept) || !slices.Equal(whole.text, parts[2].text) {
			t.Errorf("%d bytes: the merged sample has %d decisions below %d, the whole one %d below %d",
				bytes, len(parts[2].kept), parts[2].limit.Load(), len(whole.kept), whole.limit.Load())
		}
	}
}
