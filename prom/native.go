// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/regometer/regometer/exphist"
)

// maxGap limits the empty buckets that native writes between others. For a
// longer gap it begins a new span, which takes about as many bytes.
const maxGap = 2

// native has the memory for exponential buckets.
type native struct {
	spans slab[span]

	// The parts of one histogram.
	list   []*dto.BucketSpan
	deltas []int64
}

// span is a run of exponential buckets.
type span struct {
	message dto.BucketSpan
	offset  int32
	length  uint32
}

// write gives m the exponential buckets of e. These are spans of buckets, and
// the difference between each bucket's count and the previous one.
func (a *native) write(m *dto.Histogram, e *exphist.Snapshot) {
	first, counts := e.Buckets()
	spans, deltas := a.list[:0], a.deltas[:0]
	var (
		current *span
		written uint64 // the count of the last bucket
		next    int    // the index of the bucket after it
	)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		gap := first + i - next
		if current == nil || gap > maxGap {
			current = a.spans.next()
			current.offset = int32(gap)
			current.message.Offset, current.message.Length = &current.offset, &current.length
			spans = append(spans, &current.message)
			gap = 0
		}
		for range gap {
			deltas = append(deltas, -int64(written))
			written = 0
		}
		deltas = append(deltas, int64(n-written))
		written = n
		current.length += uint32(gap) + 1
		next = first + i + 1
	}
	m.PositiveSpan, m.PositiveDelta = slices.Clone(spans), slices.Clone(deltas)
	a.list, a.deltas = spans, deltas
}
