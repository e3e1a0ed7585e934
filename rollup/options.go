// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/stages"
)

// Options configures a Rollup. The zero value is the default.
type Options struct {
	// Paths limits the number of paths with a label of their own. 0 means 50.
	Paths int

	// Stages extends the table of stages. A Stage replaces an entry of the same
	// name.
	Stages []Stage

	// Counters extends the list of counters with a label of their own.
	Counters []string

	// PathStages are the stages whose durations are kept by path, in addition
	// to over all paths. nil means the whole decision (server_handler) and the
	// evaluation of the policy (rego_query_eval).
	PathStages []string

	// Bounds are the explicit bounds of all histograms, in nanoseconds, see
	// [exphist.Layout].
	Bounds []int64
}

// Size holds the limits of a rollup's contents, whatever decisions are added.
type Size struct {
	Paths      int // rows of outcomes, including path Other
	PathStages int // histograms of each path
	Stages     int // stages over all paths, including Other
	Counters   int // counters over all paths, including Other
	Errors     int // codes of errors, including Other
}

// Size returns the limits of a rollup with these options, or the error that New
// would return.
func (o Options) Size() (Size, error) {
	o, table, err := o.complete()
	if err != nil {
		return Size{}, err
	}
	return Size{
		Paths:      o.Paths + 1,
		PathStages: len(o.PathStages),
		Stages:     len(table.Stages) + 1,
		Counters:   len(o.Counters) + 1,
		Errors:     len(stages.ErrorCodes()) + 1,
	}, nil
}

// complete returns the options with the defaults filled in, and the table of
// all stages. It fails if an option is invalid. The error names the option.
func (o Options) complete() (Options, stages.Table, error) {
	if o.Paths < 0 {
		return o, stages.Table{}, fmt.Errorf("rollup: Paths is %d: it must be positive, or 0 for the default", o.Paths)
	}
	o.Paths = cmp.Or(o.Paths, 50)
	if o.PathStages == nil {
		o.PathStages = stages.DefaultPathStages()
	}
	counters := stages.DefaultCounters()
	for i, name := range o.Counters {
		if err := checkName("Counters", i, name); err != nil {
			return o, stages.Table{}, err
		}
		if !slices.Contains(counters, name) {
			counters = append(counters, name)
		}
	}
	o.Counters = counters
	o.Bounds = slices.Clone(o.Bounds)
	if err := o.layout().Validate(); err != nil {
		return o, stages.Table{}, fmt.Errorf("rollup: Bounds: %w", err)
	}
	table, err := newStageTable(o.Stages)
	if err == nil {
		err = keepByPath(table, o.PathStages)
	}
	return o, table, err
}

// layout returns the layout of all histograms.
func (o Options) layout() exphist.Layout {
	return exphist.Layout{Unit: exphist.Nanosecond, Bounds: o.Bounds}
}
