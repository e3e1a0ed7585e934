// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/internal/logread"
)

// The limits of a sample. Tests lower them.
var (
	sampleSize  = 20_000   // decisions
	sampleBytes = 32 << 20 // of memory
)

// A sample has decisions that stand for all. Decisions of like paths and
// durations are a layer. Each layer keeps the decisions with the lowest hashes,
// up to a limit. So a sample keeps rare paths and the slowest decisions, and does
// not depend on the order of the log.
type sample struct {
	mu      sync.Mutex
	layers  [layerPaths * layerTimes]layer
	kept    int
	bytes   int
	limit   int // decisions of a layer; 0 is no limit
	largest int // bytes of a decision; 0 is no limit
}

// A sample has fewer layers than decisions. Paths with the same hash share
// layers, since a client can make up any number of paths. A duration is twice
// that of the layer before, or more.
const layerPaths, layerTimes = 256, 40

type layer struct {
	seen uint64
	kept []*decision
	last uint64 // decisions with a greater hash have no room
}

// add adds a decision if it has room.
func (s *sample) add(e *logread.Event, took int64, place func(*logread.Event) func() report.Place) {
	at := report.Hash(0, e.Path)%layerPaths*layerTimes + min(uint64(bits.Len64(uint64(took))), layerTimes-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.layers[at]
	l.seen++
	if l.last > 0 && hashOf(e) > l.last {
		return
	}
	d := newDecision(e, took, place(e))
	l.kept = append(l.kept, d)
	s.kept++
	s.bytes += d.size()
	if s.kept > sampleSize*5/4 || s.bytes > sampleBytes {
		s.thin()
	}
}

// thin takes out the decisions beyond the limits, and lowers the limits until the
// others have room. The limits have the same values in any order of the log.
func (s *sample) thin() {
	for {
		s.kept, s.bytes = 0, 0
		for i := range s.layers {
			l := &s.layers[i]
			if limit := s.limit; limit > 0 && len(l.kept) > limit {
				slices.SortFunc(l.kept, func(a, b *decision) int { return cmp.Compare(a.hash, b.hash) })
				clear(l.kept[limit:])
				l.kept = l.kept[:limit]
				l.last = max(1, l.kept[limit-1].hash)
			}
			l.kept = slices.DeleteFunc(l.kept, func(d *decision) bool { return s.largest > 0 && d.size() > s.largest })
			for _, d := range l.kept {
				s.kept++
				s.bytes += d.size()
			}
		}
		switch {
		case s.kept <= sampleSize && s.bytes <= sampleBytes:
			return
		case s.limit == 1:
			s.largest = cmp.Or(s.largest, sampleBytes) / 2
		default:
			s.limit = max(1, cmp.Or(s.limit, sampleSize)*31/32)
		}
	}
}

// decisions returns the decisions of the sample, sorted by hash.
func (s *sample) decisions() (all []*decision) {
	s.thin()
	for i := range s.layers {
		l := &s.layers[i]
		for _, d := range l.kept {
			d.of = float64(l.seen) / float64(len(l.kept))
		}
		all = append(all, l.kept...)
	}
	slices.SortFunc(all, func(a, b *decision) int { return cmp.Compare(a.hash, b.hash) })
	return all
}
