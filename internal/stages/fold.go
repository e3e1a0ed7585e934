// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import "math/bits"

// Folding has the metrics of a decision that is being added. The zero value is
// empty. A Folding can be on the stack.
type Folding struct {
	N    int // the number of timers and counters
	few  [16]Value
	more []Value // the values after the first 16, which few decisions have

	// containers has a bit for the slot of each stage that may contain others
	// and whose value is above 0. at has the index of its value.
	containers uint32
	at         [MaxContainers]int32
}

// Value is a metric with its value.
type Value struct {
	Metric *Metric
	Value  int64

	// Covered is the part of a stage's time that contained stages took.
	// CoveredOfPath is the part that contained stages took that are kept by
	// path.
	Covered, CoveredOfPath int64
}

// Put adds a value.
func (f *Folding) Put(m *Metric, value int64) {
	if slot := uint(m.Slot); slot < MaxContainers && value > 0 {
		f.containers |= 1 << slot
		f.at[slot] = int32(f.N)
	}
	if f.N < len(f.few) {
		f.few[f.N] = Value{Metric: m, Value: value}
	} else {
		f.more = append(f.more, Value{Metric: m, Value: value})
	}
	f.N++
}

// Reset empties f. It keeps the memory, unless there is much.
func (f *Folding) Reset() {
	if f.N > 1000 {
		f.more = nil
	}
	f.N, f.more, f.containers = 0, f.more[:0], 0
}

// At returns value i, from 0 to N−1.
func (f *Folding) At(i int) *Value {
	if i < len(f.few) {
		return &f.few[i]
	}
	return &f.more[i-len(f.few)]
}

// Cover adds the time of each stage to Covered of its nearest ancestor. It adds
// the time of each stage that is kept by path to CoveredOfPath of its nearest
// ancestor that is kept by path.
func (f *Folding) Cover() {
	for i := range f.N {
		v := f.At(i)
		if v.Value <= 0 || v.Metric.Ancestors&f.containers == 0 {
			continue
		}
		a := f.nearest(v.Metric.Ancestors)
		a.Covered += min(v.Value, a.Value-a.Covered)
		if slots := v.Metric.PathAncestors; slots&f.containers != 0 {
			a = f.nearest(slots)
			a.CoveredOfPath += min(v.Value, a.Value-a.CoveredOfPath)
		}
	}
}

// nearest returns the innermost of these stages that the decision has. It must
// have one.
func (f *Folding) nearest(slots uint32) *Value {
	return f.At(int(f.at[bits.TrailingZeros32(slots&f.containers)&(MaxContainers-1)]))
}
