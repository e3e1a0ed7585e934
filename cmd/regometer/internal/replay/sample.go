// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/regometer/regometer/cmd/regometer/internal/hash"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// evaluation is the timer that a replay measures again.
const evaluation = "timer_rego_query_eval_ns"

// A decision is what a replay needs of an event of a log.
type decision struct {
	*logread.Event         // with the fields that newDecision copies
	Query          string  // of an ad-hoc query
	Partial        bool    // the evaluation was partial
	Of             float64 // the decisions of the log for which this one stands

	place func() report.Place // when the log has been read
	hash  uint64              // decides which decisions a sample keeps
	took  int64               // ns: the logged evaluation, or 0
	size  int                 // the memory that it takes in a sample, in bytes
}

// durationOf returns the logged duration of an event's evaluation, or 0.
func durationOf(e *logread.Event, key func(metric int32) string) int64 {
	for _, m := range e.Measures {
		if key(m.Metric) == evaluation {
			return m.Value
		}
	}
	return 0
}

// newDecision copies an event.
func newDecision(e *logread.Event, took int64, place func() report.Place) *decision {
	d := &decision{Of: 1, place: place, hash: hashOf(e), took: took}
	d.Event = &logread.Event{
		Time: e.Time, Outcome: e.Outcome, Code: e.Code, Path: e.Path, DecisionID: e.DecisionID, Revision: e.BundleRevisions(),
		Labels: e.Labels, Input: e.Input, Result: e.Result, Cache: e.Cache, Erased: e.Erased, Masked: e.Masked,
	}
	fields := [...]*[]byte{&d.Path, &d.DecisionID, &d.Revision, &d.Labels, &d.Input, &d.Result, &d.Cache, &d.Erased, &d.Masked}
	for _, field := range fields {
		d.size += len(*field)
	}
	text := make([]byte, 0, d.size) // one, because the garbage collector looks at each again and again
	for _, field := range fields {
		if *field != nil {
			text = append(text, *field...)
			*field = text[len(text)-len(*field):]
		}
	}
	d.size = max(d.size+1000, sampleBytes/sampleSize)
	if d.isQuery() {
		d.Query = string(logread.Meaning(logread.Field(e.Text, "query")))
	}
	d.Partial = bytes.Contains(logread.Field(e.Text, "custom", "type"), []byte("compile"))
	return d
}

// isQuery reports whether the decision is an ad-hoc query, which has no path.
func (d *decision) isQuery() bool { return string(d.Path) == outcome.Query }

// hides reports whether a mask policy has hidden a field of the event, or a part
// of it.
func (d *decision) hides(field string) bool {
	pointer := []byte(`"/` + field)
	return bytes.Contains(d.Erased, pointer) || bytes.Contains(d.Masked, pointer)
}

// hashOf returns a hash of an event's id and time.
func hashOf(e *logread.Event) uint64 { return hash.Of(uint64(e.Time), e.DecisionID) }

// sampleBytes limits the memory of a sample, and with it its decisions, which
// count as at least a part of sampleSize. Tests lower these.
var sampleSize, sampleBytes = 20_000, 32 << 20

// A sample has decisions that stand for all. Decisions of like paths and
// durations are a layer. Each layer keeps the decisions with the lowest hashes,
// up to a limit. So a sample keeps rare paths and the slowest decisions, and does
// not depend on the order of the log.
type sample struct {
	mu      sync.Mutex
	layers  [layerPaths * layerTimes]layer
	bytes   int
	limit   int // decisions of a layer
	largest int // bytes of a decision
}

// A sample has fewer layers than decisions. Paths with the same hash share
// layers, since a client can make up any number of paths. A duration is twice
// that of the layer before, or more.
const layerPaths, layerTimes = 256, 40

type layer struct {
	seen uint64
	kept []*decision
	last uint64 // decisions with a greater hash have no room, unless it is 0
}

func newSample() *sample { return &sample{limit: sampleSize, largest: sampleBytes} }

// add adds a decision if it has room, with what copies it.
func (s *sample) add(e *logread.Event, took int64, copied func() *decision) {
	at := hash.Of(0, e.Path)%layerPaths*layerTimes + min(uint64(bits.Len64(uint64(took))), layerTimes-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.layers[at]
	l.seen++
	if l.last > 0 && hashOf(e) > l.last {
		return
	}
	d := copied()
	l.kept = append(l.kept, d)
	if s.bytes += d.size; s.bytes > sampleBytes {
		s.thin()
	}
}

// thin takes out the decisions beyond the limits, and lowers the limits until the
// others have room. The limits have the same values in any order of the log.
func (s *sample) thin() {
	for {
		s.bytes = 0
		for i := range s.layers {
			l := &s.layers[i]
			slices.SortFunc(l.kept, func(a, b *decision) int { return cmp.Compare(a.hash, b.hash) })
			if len(l.kept) > s.limit {
				clear(l.kept[s.limit:])
				l.kept = l.kept[:s.limit]
				l.last = max(1, l.kept[s.limit-1].hash)
			}
			l.kept = slices.DeleteFunc(l.kept, func(d *decision) bool { return d.size > s.largest })
			for _, d := range l.kept {
				s.bytes += d.size
			}
		}
		switch {
		case s.bytes <= sampleBytes:
			return
		case s.limit > 1:
			s.limit = s.limit * 15 / 16
		default:
			s.largest /= 2
		}
	}
}

// decisions returns the decisions of the sample, sorted by hash.
func (s *sample) decisions() (all []*decision) {
	s.thin()
	for i := range s.layers {
		l := &s.layers[i]
		for _, d := range l.kept {
			d.Of = float64(l.seen) / float64(len(l.kept))
		}
		all = append(all, l.kept...)
	}
	slices.SortFunc(all, func(a, b *decision) int { return cmp.Compare(a.hash, b.hash) })
	return all
}
