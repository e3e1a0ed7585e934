// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// Rollup holds the sums of the decisions that were added to it. [New] makes it.
// All methods may be called from any goroutine.
type Rollup struct {
	options Options // with the defaults filled in
	metrics metrics // the stages and counters that have a label

	// The sums over all paths, by column.
	stages     []atomic.Pointer[durations]
	unfinished [][causes]atomic.Uint64
	codes      []string // the errors with a label of their own, sorted
	counters   []counter
	errors     []atomic.Uint64 // by index in codes; the last one counts all other codes

	// The sums by path.
	byLabel table[row]
	rows    atomic.Pointer[[]*row] // path Other first, then the others in the order in which they got a label
	other   *row

	overflow struct{ paths, stages, counters, invalid atomic.Uint64 }

	mu sync.Mutex // held while a path gets its row, or a stage its histogram
}

// A counter is the total of one of OPA's counters.
type counter struct {
	seen  atomic.Bool
	total atomic.Uint64
}

// New returns an empty rollup. It fails if an option is invalid. The error
// names the option.
func New(o Options) (*Rollup, error) {
	o, table, err := o.complete()
	if err != nil {
		return nil, err
	}
	m := newMetrics(table, o.Counters)
	codes := stages.ErrorCodes()
	r := &Rollup{
		options:    o,
		codes:      codes,
		metrics:    m,
		stages:     make([]atomic.Pointer[durations], len(m.stages)),
		unfinished: make([][causes]atomic.Uint64, len(m.stages)),
		counters:   make([]counter, len(m.counters)),
		errors:     make([]atomic.Uint64, len(codes)+1),
		byLabel:    newTable[row](2*o.Paths, newSeededHash()),
	}
	r.other = r.newRow(Other)
	r.byLabel.add("", r.other)
	r.byLabel.add(Other, r.other)
	r.rows.Store(&[]*row{r.other})
	return r, nil
}

// Decision is a finished decision of OPA.
type Decision struct {
	// Path is the decision's path, or the label that the caller gave it.
	Path string
	// Query marks an ad-hoc query (POST /v1/query). It is not needed if Path is
	// [outcome.Query].
	Query bool
	// Outcome says how the decision ended. An invalid Outcome counts as
	// Neither.
	Outcome outcome.Outcome
	// Code is OPA's code of the error, if Outcome is outcome.Failed.
	Code string
	// Overflow marks a decision whose path would have another label if there
	// were more room. [Overflow.Paths] counts it.
	Overflow bool

	// Metrics and Numbers hold the timers and counters. Each key should be in
	// only one of them, and only once.
	Metrics map[string]any // as in OPA's decision log
	Numbers []Number
}

// Number is the value of a timer or counter. It names the metric by its full
// key.
type Number struct {
	Key   string // as in a decision log: "timer_…_ns", "counter_…"
	Value int64
}

// Add adds a decision. It does not keep or change Metrics and Numbers.
func (r *Rollup) Add(d Decision) {
	var f stages.Folding
	if d.Metrics != nil {
		r.putMap(&f, d.Metrics)
	}
	for i := range d.Numbers {
		if m := r.metrics.find(d.Numbers[i].Key); m != nil {
			r.put(&f, m, d.Numbers[i].Value)
		}
	}
	f.Cover()

	row, fits := r.rowOf(d.Path)
	if !fits || d.Overflow {
		r.overflow.paths.Add(1)
	}
	ended := d.Outcome.Valid()
	row.outcomes[ended].Add(1)
	if ended == outcome.Failed {
		r.errors[r.indexOfCode(d.Code)].Add(1)
	}
	for i := range f.N {
		v := f.At(i)
		switch m := v.Metric; {
		case m.Kind == stages.Counter:
			r.counters[m.Column].add(uint64(v.Value))
		case v.Value == 0:
			r.unfinished[m.Column][causeOf(m, &d)].Add(1)
		default:
			r.durationsAt(&r.stages[m.Column]).record(v.Value, v.Covered)
			if m.PathIndex >= 0 {
				r.durationsAt(&row.byStage[m.PathIndex]).record(v.Value, v.CoveredOfPath)
			}
		}
	}
}

// putMap adds the timers and counters of a map to f, and counts invalid values.
func (r *Rollup) putMap(f *stages.Folding, metrics map[string]any) {
	for key, value := range metrics {
		m := r.metrics.find(key)
		if m == nil {
			continue
		}
		n, ok := value.(int64)
		if !ok {
			n, ok = integer(value)
		}
		if ok {
			r.put(f, m, n)
		} else {
			r.overflow.invalid.Add(1)
		}
	}
}

// put adds a metric of a decision to f, and counts it if it overflows. It does
// not add a negative counter, but counts it as invalid.
func (r *Rollup) put(f *stages.Folding, m *stages.Metric, n int64) {
	switch {
	case n < 0 && m.Kind == stages.Counter:
		r.overflow.invalid.Add(1)
		return
	case !m.Overflows:
	case m.Kind == stages.Counter:
		r.overflow.counters.Add(uint64(n))
	default:
		r.overflow.stages.Add(1)
	}
	f.Put(m, n)
}

func (c *counter) add(n uint64) {
	if !c.seen.Load() {
		c.seen.Store(true)
	}
	c.total.Add(n)
}

// indexOfCode returns the index of a code in r.codes, or len(r.codes) for other
// codes.
func (r *Rollup) indexOfCode(code string) int {
	if at, ok := slices.BinarySearch(r.codes, code); ok {
		return at
	}
	return len(r.codes)
}
