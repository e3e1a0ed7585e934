// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/regometer/regometer/decisionlog"
)

// However decisions are distributed, and merged or shared, the sample is the
// same, and has no more than its limits.
func TestSampleMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, length := range []int{10, 900} { // of names: few and too many
		whole, shared := newSample(), newSample()
		var sharing [3][]*decisionlog.Event
		parts := []*decisionSample{newSample(), newSample(), newSample()}
		for i := range 60_000 {
			e := &decisionlog.Event{Time: int64(i), DecisionID: fmt.Appendf(nil, "%016x", random.Uint64()),
				Path: []byte("p"), RequestedBy: fmt.Appendf(nil, "%0*d:1", length, random.IntN(100))}
			whole.add(e, nil)
			part := random.IntN(3)
			parts[part].add(e, nil)
			sharing[part] = append(sharing[part], e)
		}
		var wg sync.WaitGroup
		for _, events := range sharing {
			wg.Go(func() {
				for _, e := range events {
					shared.add(e, nil)
				}
			})
		}
		wg.Wait()
		parts[2].merge(parts[0])
		parts[2].merge(parts[1])
		for name, s := range map[string]*decisionSample{"whole": whole, "merged": parts[2], "shared": shared} {
			s.sort()
			if len(s.kept) > sampleSize || len(s.text) > sampleBytes || len(s.kept) < 3000 {
				t.Errorf("the %s sample has %d decisions with %d bytes of names", name, len(s.kept), len(s.text))
			}
			whole.sort()
			if s.limit.Load() != whole.limit.Load() || !slices.Equal(s.kept, whole.kept) || !bytes.Equal(s.text, whole.text) {
				t.Errorf("%d bytes: the %s sample has %d decisions below %d, the whole one %d below %d",
					length, name, len(s.kept), s.limit.Load(), len(whole.kept), whole.limit.Load())
			}
		}
	}
}
