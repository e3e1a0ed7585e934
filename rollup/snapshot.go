// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"iter"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/outcome"
)

// Snapshot is a copy of a rollup's contents. All lists keep their order from
// one snapshot to the next.
type Snapshot struct {
	Paths    []Path // path Other first, unless it is empty; then the others in the order of Rollup.Labels
	Stages   []StageTotal
	Counters []Total
	Errors   []Total // the code Other stands for other codes and for errors without a code
	Overflow Overflow
}

// outcomes is the number of outcomes.
const outcomes = int(outcome.Cancelled) + 1

// Path holds the sums of the decisions with one path label.
type Path struct {
	Label    string
	Stages   []StageTotal // those that are kept by path
	outcomes [outcomes]uint64
}

// Outcomes returns an iterator over all outcomes, with the number of decisions
// that ended so. Later releases may have more outcomes.
func (p *Path) Outcomes() iter.Seq2[outcome.Outcome, uint64] {
	return func(yield func(outcome.Outcome, uint64) bool) {
		for o, n := range p.outcomes {
			if !yield(outcome.Outcome(o), n) {
				return
			}
		}
	}
}

// StageTotal holds the durations of a stage, of one path or over all paths.
type StageTotal struct {
	Stage     string
	Histogram exphist.Snapshot // nanoseconds, exported in seconds; may be empty

	// Self is the time in ns without the contained stages that are in the same
	// list. It does not exceed the largest uint64.
	Self uint64

	unfinished [causes]uint64 // 0 for stages by path
}

// Unfinished returns an iterator over the causes for which the timer was 0 in a
// decision, with the number of such decisions. It leaves out causes without one.
// There are none for stages by path. Later releases may have more causes:
//
//   - "unknown": the timer was still running when the decision was logged, or
//     its time is below the clock's resolution.
//   - "query": the decision answers POST /v1/query. OPA always logs such a
//     decision before it stops the handler's timer.
//   - "failed": the decision failed or was cancelled within the stage.
func (t *StageTotal) Unfinished() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for c, n := range t.unfinished {
			if n > 0 && !yield(causeNames[c], n) {
				return
			}
		}
	}
}

// Total is the total of a counter over all decisions, modulo 2^64, or the number
// of decisions that ended in an error with this code.
type Total struct {
	Name  string
	Total uint64
}

// Overflow counts invalid values, and values that have the label Other because
// there is no room.
type Overflow struct {
	Paths    uint64 // decisions whose path has no label of its own, because of the limit
	Stages   uint64 // timers of stages without a label
	Counters uint64 // the sum of the counters without a label

	Invalid uint64 // negative counters, which are ignored
}

// add adds o to v.
func (v *Overflow) add(o *Overflow) {
	v.Paths += o.Paths
	v.Stages += o.Stages
	v.Counters += o.Counters
	v.Invalid += o.Invalid
}

// The causes of unfinished timers.
const (
	causeUnknown = iota
	causeQuery
	causeFailed

	causes
)

var causeNames = [causes]string{"unknown", "query", "failed"}
