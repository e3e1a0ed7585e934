// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/regometer/regometer/decisionlog"
)

// However decisions are distributed and merged, the sample is the same, and has
// no more than its limits.
func TestSampleMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for _, clients := range []int{10, 40_000} { // with few and with too many bytes of names
		whole := newSample()
		parts := []decisionSample{newSample(), newSample(), newSample()}
		for i := range 60_000 {
			e := &decisionlog.Event{Time: int64(i), DecisionID: fmt.Appendf(nil, "%016x", random.Uint64()),
				Path: []byte("p"), RequestedBy: fmt.Appendf(nil, "%0500d:1", random.IntN(clients))}
			whole.add(e, nil)
			parts[random.IntN(3)].add(e, nil)
		}
		parts[2].merge(&parts[0])
		parts[2].merge(&parts[1])
		for _, s := range []*decisionSample{&whole, &parts[2]} {
			s.sort()
			s.forget()
			if len(s.kept) > sampleSize || s.bytes > sampleBytes || len(s.kept) < 3000 {
				t.Errorf("%d decisions with %d bytes of names are kept", len(s.kept), s.bytes)
			}
		}
		if whole.limit != parts[2].limit || !reflect.DeepEqual(whole.kept, parts[2].kept) {
			t.Errorf("%d clients: the merged sample has %d decisions below %d, the whole one %d below %d",
				clients, len(parts[2].kept), parts[2].limit, len(whole.kept), whole.limit)
		}
	}
}
