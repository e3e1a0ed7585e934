// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/regometer/regometer/metrics"
)

// Rollup is what decisions are folded into. [New] makes it. All methods may be
// called from any goroutine.
type Rollup struct {
	options Options
	limits  Limits
	catalog *catalog

	byLabel table[row]
	rows    atomic.Pointer[[]*row] // path Other's, then the labelled ones as they came
	other   *row
	closed  atomic.Bool // whether a path was refused a label: no further one gets any

	overflow overflow

	// mu is held to give labels, histograms and totals.
	mu                         sync.Mutex
	histogramsLeft, totalsLeft int // for labelled paths
}

// New returns an empty rollup, or an error that names the option that is wrong.
func New(o Options) (*Rollup, error) {
	limits := o.Limits.WithDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	stages, err := newStageTable(o.Stages)
	if err != nil {
		return nil, err
	}
	r := &Rollup{
		options:        o,
		limits:         limits,
		catalog:        newCatalog(stages, limits),
		byLabel:        newTable[row](2 * limits.Paths),
		other:          &row{label: Other},
		histogramsLeft: limits.Histograms - (limits.Stages + 1),
		totalsLeft:     limits.Events - (limits.Counters + 1),
	}
	r.byLabel.add("", r.other)
	r.byLabel.add(Other, r.other)
	r.rows.Store(&[]*row{r.other})
	return r, nil
}

// Add folds in a decision whose metrics are a map as OPA's decision log has it.
// The map is read only and not kept. An outcome that is none counts as
// OtherResult.
func (r *Rollup) Add(path string, o Outcome, m map[string]any) {
	var d decided
	for key, value := range m {
		r.note(&d, key, value)
	}
	r.fold(&d, path, o)
}

// AddMetrics folds in a decision whose metrics are a collection, of Regometer
// or any other, as it is now. nil is an empty one.
func (r *Rollup) AddMetrics(path string, o Outcome, m metrics.Metrics) {
	var d decided
	for metric := range metrics.Each(m) {
		switch metric.Kind() {
		case metrics.KindTimer:
			r.noteNumber(&d, metric.Key(), metric.Int64())
		case metrics.KindCounter:
			r.noteNumber(&d, metric.Key(), int64(metric.Uint64())) // 2⁶³ and above become negative, which is refused
		case metrics.KindOther:
			r.note(&d, metric.Key(), metric.Value())
		}
	}
	r.fold(&d, path, o)
}

// Number is one metric of a decision, parsed.
type Number struct {
	Key   string // as in a decision log: "timer_…_ns", "counter_…"
	Value int64
}

// AddNumbers folds in a decision whose metrics are numbers. They are not kept.
// A key should be among them once.
func (r *Rollup) AddNumbers(path string, o Outcome, numbers []Number) {
	var d decided
	for _, n := range numbers {
		r.noteNumber(&d, n.Key, n.Value)
	}
	r.fold(&d, path, o)
}

// rowOf returns the row of the decisions of a path.
func (r *Rollup) rowOf(path string) (row *row, overflow bool) {
	label := path
	if r.options.Label != nil {
		given, ok := r.options.Label(path)
		if !ok {
			return r.other, false
		}
		label = given
	}
	if row := r.byLabel.get(label); row != nil {
		return row, false
	}
	return r.admit(label)
}

// admit returns the row of a label that was not found, or path Other's if there
// is no room for it.
func (r *Rollup) admit(label string) (row *row, overflow bool) {
	if clean := valid(label); clean != label {
		label = clean
		if row := r.byLabel.get(label); row != nil {
			return row, false
		}
	}
	if len(label) > maxName || r.closed.Load() {
		return r.other, true
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if row := r.byLabel.get(label); row != nil {
		return row, false
	}
	c := r.catalog
	if !r.room(c.stages.seen(), c.counters.seen()) {
		r.closed.Store(true)
		return r.other, true
	}
	return r.newRow(label), false
}

// room says whether a path with so many stages and counters may get a label.
func (r *Rollup) room(stages, counters int) bool {
	return len(*r.rows.Load())-1 < r.limits.Paths && r.histogramsLeft >= stages && r.totalsLeft >= counters
}

func (r *Rollup) newRow(label string) *row {
	row := &row{label: strings.Clone(label)}
	r.byLabel.add(row.label, row)
	rows := append(*r.rows.Load(), row) // readers of the shorter slice do not see it
	r.rows.Store(&rows)
	return row
}
