// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// slowest holds the slowest decisions. The result does not depend on the order
// in which decisions are added and merged.
type slowest struct {
	Limit int
	Kept  []SlowDecision // up to 2*Limit while decisions are added

	least int64 // the time that a decision must take to be kept
}

// SlowDecision is one of the slowest decisions.
type SlowDecision struct {
	Key     string
	ID      string
	TraceID string
	Time    int64 // when it was made, as in Report
	Outcome outcome.Outcome
	Took    int64 // ns: of its longest stage
	Place   Place

	part *part // the part in which Place counts lines; nil stands for the file
}

// add adds an event of a part. A decision takes as long as its longest timer,
// which contains the others. stages has the names of the timers, by number.
func (s *slowest) add(keys [][]byte, e *logread.Event, p *part, stages []string) {
	below := max(s.least, 1) - 1
	took := below // most events have only smaller values, and cost a comparison for each
	for _, m := range e.Measures {
		if m.Value > took && stages[m.Metric] != "" {
			took = m.Value
		}
	}
	if took == below {
		return
	}
	s.Kept = append(s.Kept, SlowDecision{
		Key: string(text.Cut(bytes.Join(keys, []byte(", ")), maxKey)), ID: string(e.DecisionID), TraceID: string(e.TraceID), Time: e.Time, Outcome: e.Outcome,
		Took: took, Place: Place{p.input.Name, e.Line}, part: p,
	})
	if len(s.Kept) >= 2*s.Limit {
		s.cut()
	}
}

// place turns the line numbers of parts into those of files. All parts must
// have been read.
func (s *slowest) place() {
	s.cut()
	for i := range s.Kept {
		d := &s.Kept[i]
		d.Place.Line += d.part.before
		d.part = nil
	}
}

// merge adds the decisions of o. Both must have the line numbers of files.
func (s *slowest) merge(o *slowest) {
	s.Kept = append(s.Kept, o.Kept...)
	s.cut()
}

// cut keeps the slowest decisions, sorted.
func (s *slowest) cut() {
	slices.SortFunc(s.Kept, compareSlow)
	s.Kept = s.Kept[:min(len(s.Kept), s.Limit)]
	if n := len(s.Kept); n > 0 && n == s.Limit {
		s.least = s.Kept[n-1].Took
	}
}

// compareSlow compares all fields that can differ. The slowest come first.
func compareSlow(a, b SlowDecision) int {
	return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID), cmp.Compare(a.TraceID, b.TraceID), cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.part.order(), b.part.order()), cmp.Compare(a.Place.Line, b.Place.Line),
		cmp.Compare(a.Outcome, b.Outcome))
}
