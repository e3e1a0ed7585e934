// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// A Profiler gets a sample of the decisions that count, and serves a profile. Its
// metrics are among the collector's.
type Profiler interface {
	http.Handler
	prometheus.Collector
	// Offer offers events of bodies that count. It waits for nothing.
	Offer(Draw)
	// Renew says that the policy has changed.
	Renew()
}

// profilePath is where the profile is.
const profilePath = "/debug/pprof/rego"

// A Draw is a sample of events: each gets a number by chance, and those with the
// greatest numbers stay.
type Draw struct {
	Seen  int     // events, without those that are too large
	kept  []drawn // by falling number
	bytes int
	bar   uint64 // the greatest number that did not stay, or 0 if all did
}

type drawn struct {
	number uint64
	text   []byte
}

// mostDrawn limits the events of a draw, mostBytes their bytes together, and
// largest those of an event.
const mostDrawn, mostBytes, largest = 100, 1 << 20, 256 << 10

func (d *Draw) add(event []byte) {
	if d == nil || len(event) > largest {
		return
	}
	d.Seen++
	if number := 1 + rand.Uint64N(1<<63); number > d.bar {
		d.insert(drawn{number, bytes.Clone(event)})
	}
}

// Merge adds another draw, which must not be used again.
func (d *Draw) Merge(o Draw) {
	d.Seen += o.Seen
	d.bar = max(d.bar, o.bar)
	for _, e := range append(o.kept, drawn{}) { // the last one does not stay
		d.insert(e)
	}
}

// insert adds an event, and takes out those that have no room.
func (d *Draw) insert(e drawn) {
	at, _ := slices.BinarySearchFunc(d.kept, e, func(a, b drawn) int { return cmp.Compare(b.number, a.number) })
	d.kept = slices.Insert(d.kept, at, e)
	d.bytes += len(e.text)
	for n := len(d.kept) - 1; n >= 0 && (n >= mostDrawn || d.bytes > mostBytes || d.kept[n].number <= d.bar); n-- {
		d.bar = max(d.bar, d.kept[n].number)
		d.bytes -= len(d.kept[n].text)
		d.kept = slices.Delete(d.kept, n, n+1)
	}
}

// Events returns the events of the draw.
func (d *Draw) Events() (all [][]byte) {
	for _, e := range d.kept {
		all = append(all, e.text)
	}
	return all
}

// newReader returns a reader of bodies.
func (c *Collector) newReader() *bodyReader {
	b := newBodyReader(c.Counter, int(c.options.MaxEvent))
	if c.options.Profiler != nil {
		b.draw = new(Draw)
	}
	return b
}

// countBatch counts the decisions of a reader.
func (c *Collector) countBatch(b *bodyReader) {
	b.batch.Count()
	c.metrics.note(b)
	if b.draw != nil {
		c.options.Profiler.Offer(*b.draw)
		*b.draw = Draw{}
	}
}
