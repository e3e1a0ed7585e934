// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
)

// reservoirSize is how many values a histogram keeps.
const reservoirSize = 1028

func newHistogram() Histogram {
	// NOTE(tsandall): the reservoir size and alpha factor are taken from
	// https://github.com/rcrowley/go-metrics. They may need to be tweaked in
	// the future.
	return &histogram{sample: newExpDecaySample(reservoirSize, 0.015)}
}

func (h *histogram) Value() any {
	s := h.sample.summary()
	return s.value()
}

// Statistics returns what the Value of a histogram of the given numbers is.
func Statistics(num ...int64) any {
	if len(num) <= reservoirSize {
		s := summarize(slices.Clone(num))
		s.count = int64(len(num))
		return s.value()
	}
	t := newHistogram()
	for _, n := range num {
		t.Update(n)
	}
	return t.Value()
}
