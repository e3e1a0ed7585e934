// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

// Sizes counts the bytes of events: all together, the largest event, and of all
// the parts that can be large. A number does not exceed 2^64−1.
type Sizes struct {
	Total  uint64 `json:"total"`
	Max    uint64 `json:"max"`
	Input  uint64 `json:"input"`
	Result uint64 `json:"result"`
	Cache  uint64 `json:"nd_builtin_cache"`
	// Median is that of a sample, or 0 if there is none. Groups leaves it 0.
	Median uint64 `json:"p50,omitzero"`
}

// merge adds the sizes of other events.
func (s *Sizes) merge(o *Sizes) {
	s.Total = addSaturated(s.Total, o.Total)
	s.Max = max(s.Max, o.Max)
	s.Input = addSaturated(s.Input, o.Input)
	s.Result = addSaturated(s.Result, o.Result)
	s.Cache = addSaturated(s.Cache, o.Cache)
}

// Valid reports whether events can have these sizes.
func (s *Sizes) Valid() bool {
	return s.Median == 0 && s.Max <= s.Total && (s.Max > 0 || s.Total == 0) && max(s.Input, s.Result, s.Cache) <= s.Total
}
