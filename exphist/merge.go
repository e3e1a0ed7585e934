// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import "slices"

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
