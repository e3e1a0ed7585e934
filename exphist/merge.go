// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"slices"
)

// Merge adds the values of o, which may be s itself. MaxBuckets becomes the
// smaller one of the two. The schema becomes the highest one that is not above
// either schema and needs no more than MaxBuckets.
//
// The result does not depend on the order in which snapshots are merged. Merge
// fails, and changes nothing, if the units or the bounds differ.
func (s *Snapshot) Merge(o *Snapshot) error {
	if o.layout.MaxBuckets == 0 {
		return nil
	}
	if s.layout.MaxBuckets == 0 {
		s.layout = o.layout
		s.clearAtMost()
	}
	if err := s.layout.mergeable(o.layout); err != nil {
		return err
	}
	s.layout.MaxBuckets = min(s.layout.MaxBuckets, o.layout.MaxBuckets)
	if o.most > 0 {
		if s.most == 0 || o.least < s.least {
			s.least = o.least
		}
		s.most = max(s.most, o.most)
	}
	s.fit(o.layout.Schema)

	k := o.layout.Schema - s.layout.Schema
	for i, n := range o.counts {
		s.counts[parent(o.first+i, k)-s.first] += n
	}
	for i, n := range o.atMost {
		s.atMost[i] += n
	}
	s.zeros += o.zeros
	s.negatives += o.negatives
	s.count += o.count
	s.sum = s.sum.plus(o.sum)
	return nil
}

func (l Layout) mergeable(o Layout) error {
	if l.Unit != o.Unit {
		return fmt.Errorf("exphist: merge: one histogram is in %ss and the other in %ss: record both in the same unit", l.Unit, o.Unit)
	}
	if !l.Bounds.Equal(o.Bounds) {
		return fmt.Errorf("exphist: merge: one histogram has the bounds %v and the other %v: use equal bounds, or see Snapshot.Rebound",
			l.Bounds, o.Bounds)
	}
	return nil
}

// Merge adds the values of s. The schema becomes the highest one that is not
// above either schema and needs no more buckets than the histogram's
// MaxBuckets. Merge fails, and changes nothing, if the units or the bounds
// differ.
func (h *Histogram) Merge(s *Snapshot) error {
	if s.layout.MaxBuckets == 0 {
		return nil
	}
	if err := h.layout.mergeable(s.layout); err != nil {
		return err
	}
	h.lock()
	defer h.unlock()
	h.zeros.Add(s.zeros)
	h.negatives.Add(s.negatives)
	below := s.zeros
	for class, n := range s.atMost {
		h.addClass(class, n-below)
		below = n
	}
	h.reduceTo(s.layout.Schema)
	if s.most == 0 {
		return nil
	}
	h.include(s.least, s.most)
	shift := h.state.Load().shift
	k := s.layout.Schema - (int(h.grid.Schema) - int(shift))
	for i, n := range s.counts {
		if n > 0 {
			h.addCount((s.first+i-1)>>k-h.grid.Base>>shift, n)
		}
	}
	h.addSum(s.sum)
	return nil
}

// fit reduces the schema to this one, or to a lower one if the values need more
// than MaxBuckets. It extends counts to all buckets between the smallest and
// the largest value.
func (s *Snapshot) fit(schema int) {
	l := s.layout
	l.Schema = min(l.Schema, schema)
	if s.most == 0 {
		s.layout = l
		return
	}
	for l.index(s.most)-l.index(s.least) >= l.MaxBuckets {
		l.Schema--
	}
	s.reduce(s.layout.Schema - l.Schema)
	first, have := l.index(s.least), len(s.counts)
	before, width := s.first-first, l.index(s.most)-first+1
	if have == 0 {
		before = 0
	}
	s.counts = slices.Grow(s.counts, width-have)[:width]
	copy(s.counts[before:], s.counts[:have])
	clear(s.counts[:before])
	clear(s.counts[before+have:])
	s.first = first
}

// reduce lowers the schema by k.
func (s *Snapshot) reduce(k int) {
	s.layout.Schema -= k
	if k == 0 || len(s.counts) == 0 {
		return
	}
	first := parent(s.first, k)
	last := parent(s.first+len(s.counts)-1, k)
	for i, n := range s.counts {
		s.counts[i] = 0
		s.counts[parent(s.first+i, k)-first] += n
	}
	s.first, s.counts = first, s.counts[:last-first+1]
}
