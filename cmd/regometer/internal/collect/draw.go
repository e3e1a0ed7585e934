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
	Seen  int // events, without those that are too large
	Kept  []Drawn
	bytes int
	bar   uint64 // the greatest number that did not stay, or 0 if all did
}

// Drawn is an event of a draw.
type Drawn struct {
	Number uint64
	Text   []byte
}

// mostDrawn limits the events of a draw, mostBytes their bytes together, and
// largest those of an event.
const mostDrawn, mostBytes, largest = 100, 1 << 20, 256 << 10

func (d *Draw) add(event []byte) {
	if d == nil || len(event) > largest {
		return
	}
	d.Seen++
	if number := rand.Uint64(); number > d.bar {
		d.Merge(Draw{Kept: []Drawn{{number, bytes.Clone(event)}}})
	}
}

// Merge adds another draw.
func (d *Draw) Merge(o Draw) {
	d.Seen += o.Seen
	d.bar = max(d.bar, o.bar)
	for _, e := range o.Kept {
		at, _ := slices.BinarySearchFunc(d.Kept, e, func(a, b Drawn) int { return cmp.Compare(b.Number, a.Number) })
		d.Kept = slices.Insert(d.Kept, at, e)
		d.bytes += len(e.Text)
	}
	for n := len(d.Kept) - 1; n >= 0 && (n >= mostDrawn || d.bytes > mostBytes || d.Kept[n].Number <= d.bar); n-- {
		d.bar = max(d.bar, d.Kept[n].Number)
		d.bytes -= len(d.Kept[n].Text)
		d.Kept = d.Kept[:n]
	}
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
