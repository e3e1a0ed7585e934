// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
)

// reservoirSize is the number of values that a histogram keeps.
const reservoirSize = 1028

func newHistogram() Histogram {
	// NOTE(tsandall): the reservoir size and alpha factor are taken from
	// https://github.com/rcrowley/go-metrics. They may need to be tweaked in
	// the future.
	return &histogram{sample: newExpDecaySample(reservoirSize, 0.015)}
}

func (h *histogram) Value() any {
	count, values := h.sample.snapshot()
	s := summarize(values)
	s.count = count
	return s.value()
}

// Statistics returns the Value of a histogram of these numbers.
func Statistics(num ...int64) any {
	if len(num) <= reservoirSize { // they are the sample
		return summarize(slices.Clone(num)).value()
	}
	t := newHistogram()
	for _, n := range num {
		t.Update(n)
	}
	return t.Value()
}
