// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

func (h *histogram) Value() any {
	return h.summary().value()
}

func (h *histogram) summary() summary {
	count, values := h.sample.snapshot()
	s := summarize(values)
	s.count = count
	return s
}
