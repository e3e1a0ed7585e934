// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/internal/logread"
)

// reading is one call of Read.
type reading struct {
	Options
	start  time.Time
	inputs []*input
	of     int64              // bytes of all inputs, or -1 if their sizes are unknown
	jobs   chan func(*worker) // each reads a part, or a small file
	fail   context.CancelCauseFunc
	sample *sampleLimit
	ids    *repeats.Set // of all workers

	bytes     atomic.Int64 // read so far
	decisions atomic.Int64
}

// A worker reads parts and adds up their decisions.
type worker struct {
	*reading
	keysOf  keyFunc
	keys    [][]byte // of the groups of the event
	isKeyed bool     // they are labels or fields
	buf     []byte

	file, member *layer

	part   *part
	reader *logread.Reader
	read   int64 // events of the part that are not in reading.decisions yet

	sum    *Data    // except the inputs
	stages []string // by number of a metric: the stage, "" for a counter
	names  []string // by number: its key
	named  int      // bytes of memory that the numbers take

	// wholes has the numbers in sum.whole, and measures those of the event.
	wholes   []int32
	measures []logread.Measure
	each     func(e *logread.Event, keys [][]byte) error

	// The numbers of the evaluation, in the groups and in the revisions.
	evaluation, inRevisions int32
}

// maxNamed limits the memory of the numbers of metrics, in bytes. Beyond the
// limit the worker forgets the numbers. Tests lower it.
var maxNamed = 16 << 20

// evaluationKey is the metric whose values are kept for each revision.
const evaluationKey = "timer_rego_query_eval_ns"

func newWorker(r *reading) *worker {
	sum := newData(&r.Options)
	sum.ids = repeats.New(r.ids)
	keysOf, _ := keyOf(r.By) // Check has checked By
	w := &worker{
		reading: r, keysOf: keysOf, isKeyed: strings.Contains(r.By, ":"), buf: make([]byte, blockSize), file: newLayer(), member: newLayer(),
		sum: sum,
	}
	if r.Each != nil {
		w.each = r.Each(func(metric int32) string { return w.names[metric] }, w.place)
	}
	o := logread.Options{
		Metric: w.metric, Event: w.event, Verdicts: r.Verdicts,
		Problem: func(kind logread.Problem, line int64) {
			w.part.problem(kind, 1, Place{w.part.input.Name, line})
		},
		Loss: func(kind logread.Problem, n, time, line int64) {
			w.part.problem(kind, n, Place{w.part.input.Name, line}).widen(max(time, 0), time)
		},
	}
	w.reader = logread.NewReader(o)
	w.evaluation = w.metric([]byte(evaluationKey))
	w.inRevisions = sum.revisions.Metric([]byte(evaluationKey))
	return w
}

// place returns a function that returns the place of an event of the part.
func (w *worker) place(e *logread.Event) func() Place {
	p, line := w.part, e.Line
	return func() Place { return Place{p.input.Name, p.before + line} }
}

// metric returns the number of a metric, or a negative number if there is no
// room for it.
func (w *worker) metric(key []byte) int32 {
	n := w.sum.groups.Metric(key)
	if n < 0 {
		return n
	}
	for int(n) >= len(w.names) {
		w.stages, w.names = append(w.stages, ""), append(w.names, "")
	}
	text := string(key)
	w.names[n] = text
	if w.sum.whole != nil {
		w.wholes = append(w.wholes, make([]int32, len(w.names)-len(w.wholes))...)
		w.wholes[n] = w.sum.whole.Metric(key)
	}
	w.named += len(text) + 100
	if name, isTimer := strings.CutPrefix(text, "timer_"); isTimer {
		w.stages[n] = strings.TrimSuffix(name, "_ns")
	}
	return n
}

// forget forgets the numbers of metrics.
func (w *worker) forget() {
	w.reader.Forget()
	w.sum.groups.Forget()
	if w.sum.whole != nil {
		w.sum.whole.Forget()
	}
	w.stages, w.names, w.named, w.wholes = nil, nil, 0, nil
	w.evaluation = w.metric([]byte(evaluationKey))
}

// flush adds the decisions since the last flush to the part and to the
// progress.
func (w *worker) flush() {
	w.decisions.Add(w.read)
	w.part.Decisions += w.read
	w.read = 0
}

// event adds an event if the options select it, and otherwise notes that it
// does not.
func (w *worker) event(e *logread.Event) {
	w.read++
	switch {
	case w.wanted(e):
		w.add(e)
	case e.Time != logread.NoTime:
		widen(&w.sum.outside.First, &w.sum.outside.Last, e.Time)
	case w.wantedPath(e):
		w.part.Gaps.Unplaced++
	}
	if w.named > maxNamed {
		w.forget()
	}
}

// add adds an event that the options select.
func (w *worker) add(e *logread.Event) {
	if w.sum.ids.Add(e, w.Unique) {
		return
	}
	server, client := hashText(e.Labels), hashText(withoutPort(e.RequestedBy))
	w.sum.servers.add(server, e.Time, e.Outcome)
	w.sum.clients.add(client, e.Time, e.Outcome)
	if w.sum.paths != nil {
		w.sum.paths.Add(e.Path, e.Time, e.Outcome, e.Code, nil)
	}
	w.keys = w.keysOf(e, w.keys[:0])
	for _, key := range w.keys {
		w.sum.groups.Add(key, e.Time, e.Outcome, e.Code, e.Measures)
		w.sum.groups.AddEvent(len(e.Text), len(e.Input), len(e.Result), len(e.Cache))
	}
	if len(e.Text) > uploadLimit {
		w.sum.largest.add(e)
	}
	if w.sum.whole != nil {
		w.measures = w.measures[:0]
		for _, m := range e.Measures {
			if n := w.wholes[m.Metric]; n >= 0 {
				w.measures = append(w.measures, logread.Measure{Metric: n, Value: m.Value})
			}
		}
		w.sum.whole.Add(noKey, e.Time, e.Outcome, e.Code, w.measures)
		w.sum.whole.AddEvent(len(e.Text), len(e.Input), len(e.Result), len(e.Cache))
	}
	w.part.Gaps.add(e, w.stages)
	var key []byte
	if w.isKeyed {
		key = w.keys[0]
	}
	if w.sum.sample.add(e, w.stages, server, client, key) && len(w.sum.sample.kept)%sampleStep == 0 {
		w.reading.sample.share(w.sum.sample)
	}
	if w.sum.slowest.Limit > 0 {
		w.sum.slowest.add(w.keys, e, w.part, w.stages)
	}
	if e.Bundles != nil || e.Revision != nil {
		w.addRevision(e)
	}
	if w.each != nil {
		keys := w.keys
		if w.sum.whole == nil {
			keys = nil
		}
		if err := w.each(e, keys); err != nil {
			w.each = nil
			w.fail(err)
		}
	}
}

// addRevision adds an event and its evaluation to those of its revision.
func (w *worker) addRevision(e *logread.Event) {
	w.measures = w.measures[:0]
	if i := slices.IndexFunc(e.Measures, func(m logread.Measure) bool { return m.Metric == w.evaluation }); i >= 0 {
		w.measures = append(w.measures, logread.Measure{Metric: w.inRevisions, Value: e.Measures[i].Value})
	}
	w.sum.revisions.Add(e.BundleRevisions(), e.Time, e.Outcome, e.Code, w.measures)
}

// wanted reports whether the options select an event.
func (w *worker) wanted(e *logread.Event) bool {
	before := !w.Since.IsZero() && e.Time < w.Since.UnixNano() // as logread.NoTime is
	after := !w.Until.IsZero() && (e.Time >= w.Until.UnixNano() || e.Time == logread.NoTime)
	return !before && !after && w.wantedPath(e)
}

func (w *worker) wantedPath(e *logread.Event) bool {
	return len(w.Paths) == 0 || slices.ContainsFunc(w.Paths, func(pattern string) bool { return matches(e.Path, pattern) })
}
