// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package decisionlog reads the decision logs of Open Policy Agent (OPA),
// wherever a shipper or a service has put the events: in lines of JSON, in
// OPA's uploads and on its console, in indented JSON, in tables, and in wrappers
// within wrappers of these. [Read] finds the events by their content.
//
// Before 1.0, names may change. Forms of logs that a release reads stay.
package decisionlog

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// Options configures [Read]. The zero value is the default.
type Options struct {
	// Outcomes has rules for results of other forms, by path, such as
	// result.granted for app/main: see docs/operating.md.
	Outcomes map[string]string
	// MaxLength limits the text of an event, in bytes. 0 means 64 MiB. Read
	// skips a longer event.
	MaxLength int
}

// Event is a decision in a log.
type Event struct {
	Line int64 // the line of the log where it begins, from 1

	// Path is the path without its leading slash. It is [outcome.Query] for an
	// ad-hoc query, and [outcome.AllData] for the whole document.
	Path string
	// Time is the event's "timestamp", or else the time of a text around it. It
	// is zero if there is no valid time.
	Time    time.Time
	Outcome outcome.Outcome
	Code    string // OPA's code of the error, if Outcome is outcome.Failed

	DecisionID, RequestedBy, TraceID, SpanID string
	// Revision is name=revision of each bundle, sorted and joined by commas, or
	// the revision of an OPA without named bundles, or "".
	Revision string
	// Labels are the labels of the server that are strings.
	Labels map[string]string
	// Metrics are the timers, in ns, and the counters that are 64-bit integers of
	// 0 or more, by key, such as "timer_rego_query_eval_ns".
	Metrics map[string]int64
}

// Problem is a fault of a log. Reading goes on behind it.
type Problem struct { //nolint:errname // it does not end reading
	Kind string // such as "invalid_json": docs/report.md lists the kinds
	Line int64  // the line of the log where it begins, from 1
}

// Error returns the line and the kind.
func (p *Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Kind) }

// Read returns an iterator over the events of a log and its problems, in the
// order in which they are found. The event is nil if the error is not. A
// [*Problem] does not end the iteration, and an error of r does. The memory for
// reading does not depend on the length of the log. An iterator can be used
// once.
func Read(r io.Reader, o Options) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		const mostKeys = 10_000 // that are remembered
		var keys []string       // of metrics, by number
		stopped := false
		give := func(e *Event, err error) { stopped = stopped || !yield(e, err) }
		verdicts, err := verdicts.New(o.Outcomes)
		if err != nil {
			yield(nil, fmt.Errorf("decisionlog: Outcomes: %w", err))
			return
		}
		reader := logread.NewReader(logread.Options{
			Verdicts: verdicts, MaxLength: o.MaxLength,
			Metric: func(key []byte) int32 {
				keys = append(keys, string(key))
				return int32(len(keys) - 1)
			},
			Event:   func(e *logread.Event) { give(newEvent(e, keys), nil) },
			Problem: func(kind logread.Problem, line int64) { give(nil, &Problem{string(kind), line}) },
		})
		buf, have := make([]byte, 64<<10), 0
		for !stopped {
			if have == len(buf) { // an event that is larger
				buf = slices.Grow(buf, len(buf))[:2*len(buf)]
			}
			n, err := r.Read(buf[have:])
			have += n
			if err != nil {
				if reader.Close(buf[:have]); !errors.Is(err, io.EOF) {
					give(nil, err)
				}
				return
			}
			have = copy(buf, buf[reader.Read(buf[:have]):have])
			if len(keys) > mostKeys {
				reader.Forget()
				keys = keys[:0]
			}
		}
	}
}

func newEvent(e *logread.Event, keys []string) *Event {
	x := &Event{
		Line: e.Line, Path: string(e.Path), Outcome: e.Outcome, Code: e.Code,
		DecisionID: string(e.DecisionID), RequestedBy: string(e.RequestedBy), TraceID: string(e.TraceID), SpanID: string(e.SpanID),
		Revision: string(e.BundleRevisions()), Labels: map[string]string{}, Metrics: make(map[string]int64, len(e.Measures)),
	}
	if e.Time != logread.NoTime {
		x.Time = time.Unix(0, e.Time).UTC()
	}
	e.EachLabel(func(name, value []byte) {
		if value != nil {
			x.Labels[string(name)] = string(value)
		}
	})
	for _, m := range e.Measures {
		x.Metrics[keys[m.Metric]] = m.Value
	}
	return x
}
