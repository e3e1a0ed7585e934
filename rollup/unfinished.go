// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "github.com/regometer/regometer/internal/stages"

// Cause is why a timer of a decision is 0.
type Cause uint8

// The causes of unfinished timers.
const (
	// CauseUnknown is all others: the timer was still running when the decision
	// was logged, or its time is below the clock's resolution.
	CauseUnknown Cause = iota
	// CauseQuery is how OPA answers POST /v1/query: it logs the decision before
	// it stops the handler's timer, each time.
	CauseQuery
	// CauseFailed is a decision that ended in an error or was cancelled, within
	// the stage.
	CauseFailed

	causes
)

var causeNames = [causes]string{"unknown", "query", "failed"}

// String returns "unknown", "query" or "failed".
func (c Cause) String() string { return causeNames[min(c, causes-1)] }

func causeOf(m *stages.Metric, d *Decision) Cause {
	switch {
	case (d.Query || d.Path == Query) && m.Name == handler:
		return CauseQuery
	case d.Outcome == Error || d.Outcome == Cancelled:
		return CauseFailed
	default:
		return CauseUnknown
	}
}
