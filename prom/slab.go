// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

// A slab hands out zero values of T from blocks, so that the hundreds of small
// messages of a scrape take few allocations. The memory of a block is freed
// when none of its values is in use.
type slab[T any] struct{ block []T }

// next returns a pointer to a new zero value.
func (s *slab[T]) next() *T {
	if len(s.block) == cap(s.block) {
		s.block = make([]T, 0, max(16, 2*cap(s.block)))
	}
	s.block = s.block[:len(s.block)+1]
	return &s.block[len(s.block)-1]
}
