// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"slices"
	"strings"
	"sync"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// Rollup holds the sums of the decisions that were added to it. [New] makes it.
// All methods may be called from any goroutine.
type Rollup struct {
	options Options  // with the defaults filled in
	metrics metrics  // the stages and counters that have a label
	codes   []string // of errors: sorted, and Other at last

	mu sync.Mutex // protects all fields below

	// The sums over all paths, by column.
	stages   []stage
	counters []counter
	errors   []uint64 // by index in codes
	overflow Overflow

	// The sums by path. Path Other has two keys, and is the first row. The
	// others follow in the order in which they got a label.
	byLabel map[string]*row
	rows    []*row
}

// A stage has the durations of a stage, and its timers of 0.
type stage struct {
	durations
	unfinished [causes]uint64
}

// A counter is the total of one of OPA's counters.
type counter struct {
	seen  bool
	total uint64
}

// row holds the outcomes of a path, and the durations of each stage that is
// kept by path.
type row struct {
	label    string
	outcomes [outcomes]uint64
	byStage  []durations // by index in Options.PathStages
}

// New returns an empty rollup. It fails if an option is invalid. The error
// names the option.
func New(o Options) (*Rollup, error) {
	o, table, err := o.complete()
	if err != nil {
		return nil, err
	}
	m := newMetrics(table, o.Counters)
	codes := append(stages.ErrorCodes(), Other)
	r := &Rollup{
		options:  o,
		metrics:  m,
		codes:    codes,
		stages:   make([]stage, len(m.stages)),
		counters: make([]counter, len(m.counters)),
		errors:   make([]uint64, len(codes)),
		byLabel:  map[string]*row{},
	}
	r.byLabel[""] = r.addRow(Other)
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

	// Numbers are the timers and counters. Each key should be there only once.
	Numbers []Number
}

// Number is the value of a timer or counter. It names the metric by its full
// key.
type Number struct {
	Key   string // as in a decision log: "timer_…_ns", "counter_…"
	Value int64
}

// Add adds a decision. It does not keep or change Numbers.
func (r *Rollup) Add(d Decision) {
	var f stages.Folding
	var overflow Overflow
	for i := range d.Numbers {
		m, n := r.metrics.find(d.Numbers[i].Key), d.Numbers[i].Value
		switch {
		case m == nil:
			continue
		case n < 0 && m.Kind == stages.Counter:
			overflow.Invalid++
			continue
		case !m.Overflows:
		case m.Kind == stages.Counter:
			overflow.Counters += uint64(n)
		default:
			overflow.Stages++
		}
		f.Put(m, n)
	}
	f.Cover()
	path := stages.Valid(d.Path)

	r.mu.Lock()
	defer r.mu.Unlock()
	row, fits := r.rowOf(path)
	if !fits || d.Overflow {
		overflow.Paths++
	}
	r.overflow.add(&overflow)
	ended := d.Outcome.Valid()
	row.outcomes[ended]++
	if ended == outcome.Failed {
		r.errors[r.indexOfCode(d.Code)]++
	}
	for i := range f.N {
		v := f.At(i)
		switch m := v.Metric; {
		case m.Kind == stages.Counter:
			r.counters[m.Column].add(uint64(v.Value))
		case v.Value == 0:
			r.stages[m.Column].unfinished[causeOf(m, &d)]++
		default:
			r.stages[m.Column].record(&r.options, v.Value, v.Covered)
			if m.PathIndex >= 0 {
				row.byStage[m.PathIndex].record(&r.options, v.Value, v.CoveredOfPath)
			}
		}
	}
}

func (c *counter) add(n uint64) {
	c.seen = true
	c.total += n
}

// indexOfCode returns the index of a code in r.codes.
func (r *Rollup) indexOfCode(code string) int {
	last := len(r.codes) - 1
	if at, ok := slices.BinarySearch(r.codes[:last], code); ok {
		return at
	}
	return last
}

// rowOf returns the row of a valid path, and makes it if there is room.
// Otherwise it returns the row of path Other and false. The caller holds the
// lock.
func (r *Rollup) rowOf(path string) (_ *row, fits bool) {
	if row := r.byLabel[path]; row != nil {
		return row, true
	}
	if len(path) > stages.MaxName || len(r.rows) > r.options.Paths {
		return r.rows[0], false
	}
	return r.addRow(path), true
}

// addRow makes the row of a path. The caller holds the lock.
func (r *Rollup) addRow(path string) *row {
	row := &row{label: strings.Clone(path), byStage: make([]durations, len(r.options.PathStages))}
	r.byLabel[row.label] = row
	r.rows = append(r.rows, row)
	return row
}

func causeOf(m *stages.Metric, d *Decision) int {
	switch {
	case (d.Query || d.Path == outcome.Query) && m.Name == "server_handler":
		return causeQuery
	case d.Outcome == outcome.Failed || d.Outcome == outcome.Cancelled:
		return causeFailed
	default:
		return causeUnknown
	}
}
