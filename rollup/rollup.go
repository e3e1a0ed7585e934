// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"sync"
	"sync/atomic"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/metrics"
)

// Rollup is what decisions are folded into. [New] makes it. All methods may be
// called from any goroutine.
type Rollup struct {
	options    Options
	limits     Limits
	catalog    *catalog
	pathStages []string // the stages that are kept by path

	// What is kept over all paths, by column.
	stages     []atomic.Pointer[durations]
	unfinished [][causes]atomic.Uint64
	counters   []counter
	errors     []atomic.Uint64 // by index in errorCodes; the last are those of no known code

	// What is kept by path.
	byLabel table[row]
	rows    atomic.Pointer[[]*row] // path Other's, then the labelled ones as they came
	other   *row

	overflow overflow

	mu sync.Mutex // held to give labels and histograms
}

// A counter is the total of one of OPA's counters.
type counter struct {
	seen  atomic.Bool
	total atomic.Uint64
}

// New returns an empty rollup, or an error that names the option that is wrong.
func New(o Options) (*Rollup, error) {
	limits := o.Limits.WithDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	known, err := newStageTable(o.Stages)
	if err != nil {
		return nil, err
	}
	if err := keepByPath(known, o.pathStages()); err != nil {
		return nil, err
	}
	counters, err := o.counters()
	if err != nil {
		return nil, err
	}
	c := newCatalog(known, counters, limits)
	r := &Rollup{
		options:    o,
		limits:     limits,
		catalog:    c,
		pathStages: o.pathStages(),
		stages:     make([]atomic.Pointer[durations], c.stages.limit),
		unfinished: make([][causes]atomic.Uint64, c.stages.limit),
		counters:   make([]counter, c.counters.limit),
		errors:     make([]atomic.Uint64, len(errorCodes)+1),
		byLabel:    newTable[row](2*limits.Paths, seeded()),
	}
	r.other = r.newRow(Other)
	r.byLabel.add("", r.other)
	r.byLabel.add(Other, r.other)
	r.rows.Store(&[]*row{r.other})
	return r, nil
}

// Decision says what a decision was about and how it ended.
type Decision struct {
	// Path is the path, or the label that it has been given.
	Path string
	// Query marks an ad-hoc query (POST /v1/query) whose path is not [Query].
	Query bool
	// Outcome is how the decision ended. One that is none counts as
	// OtherResult.
	Outcome Outcome
	// Code is OPA's code of the error, if Outcome is Error.
	Code string
	// Overflow marks a decision whose path would have had another label if
	// there had been room. It is counted in [Overflow.Paths].
	Overflow bool
}

// Add folds in a decision whose metrics are a map as OPA's decision log has it.
// The map is read only and not kept.
func (r *Rollup) Add(d Decision, m map[string]any) {
	var f folding
	for key, value := range m {
		r.note(&f, key, value)
	}
	r.fold(&f, &d)
}

// AddMetrics folds in a decision whose metrics are a collection, of Regometer
// or any other, as it is now. nil is an empty one.
func (r *Rollup) AddMetrics(d Decision, m metrics.Metrics) {
	var f folding
	for metric := range metrics.Each(m) {
		switch metric.Kind() {
		case metrics.KindTimer:
			r.noteNumber(&f, metric.Key(), metric.Int64())
		case metrics.KindCounter:
			r.noteNumber(&f, metric.Key(), int64(metric.Uint64())) // 2⁶³ and above become negative, which is refused
		case metrics.KindOther:
			r.note(&f, metric.Key(), metric.Value())
		}
	}
	r.fold(&f, &d)
}

// Number is one metric of a decision, parsed.
type Number struct {
	Key   string // as in a decision log: "timer_…_ns", "counter_…"
	Value int64
}

// AddNumbers folds in a decision whose metrics are numbers. They are not kept.
// A key should be among them once.
func (r *Rollup) AddNumbers(d Decision, numbers []Number) {
	var f folding
	for i := range numbers {
		r.noteNumber(&f, numbers[i].Key, numbers[i].Value)
	}
	r.fold(&f, &d)
}

// newHistogram returns a histogram as all of a rollup's are.
func (r *Rollup) newHistogram() *exphist.Histogram {
	layout := exphist.DefaultLayout(exphist.Nanosecond)
	layout.Bounds = r.options.Bounds
	h, err := exphist.NewLayout(layout)
	if err != nil {
		panic(err) // the default layout is valid
	}
	return h
}
