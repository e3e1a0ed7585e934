// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/regometer/regometer/exphist"
)

// Labels that are not taken from a decision.
const (
	// Other is the label of what has no label of its own.
	Other = "other"
	// Query is the path label of ad-hoc queries (POST /v1/query), which have no
	// path: the client writes the query.
	Query = "(query)"
	// AllData is the path label of the whole document.
	AllData = "(data)"
)

// Options configures a Rollup. The zero value is the default.
type Options struct {
	Limits Limits

	// Stages extends the table of stages, or replaces entries of the same name.
	Stages []Stage

	// Counters extends the list of counters.
	Counters []string

	// PathStages are the stages whose durations are kept by path too, and not
	// only over all paths. nil: DefaultPathStages.
	PathStages []string

	// Bounds are the explicit bounds of all histograms, in nanoseconds. nil:
	// none.
	Bounds *exphist.Bounds
}

// Limits bounds labels and memory.
type Limits struct {
	// Paths is how many paths get a label. 0: 50.
	Paths int
	// Stages and Counters are how many names beyond the tables get a label, in
	// the order in which they appear. By default none does, so that labels do
	// not depend on that order.
	Stages, Counters int
}

var defaultLimits = Limits{Paths: 50}

// WithDefaults returns the limits that hold: l, with the defaults in the place
// of zeros.
func (l Limits) WithDefaults() Limits {
	l.Paths = cmp.Or(l.Paths, defaultLimits.Paths)
	return l
}

func (l Limits) check() error {
	for _, f := range [...]struct {
		name            string
		value, fallback int
	}{
		{"Paths", l.Paths, defaultLimits.Paths},
		{"Stages", l.Stages, defaultLimits.Stages},
		{"Counters", l.Counters, defaultLimits.Counters},
	} {
		if f.value < 0 {
			return fmt.Errorf("rollup: Limits.%s is %d: it must be 0, which stands for %d, or positive",
				f.name, f.value, f.fallback)
		}
	}
	return nil
}

// Size is how much a rollup holds at most, whatever it is given.
type Size struct {
	Paths      int // rows of outcomes, that of path Other included
	PathStages int // histograms of each of them
	Stages     int // stages over all paths, Other included
	Counters   int // counters over all paths, Other included
	Errors     int // codes of errors, Other included
}

// Size returns how much a rollup with these options holds at most, or the error
// that New would return.
func (o Options) Size() (Size, error) {
	known, err := newStageTable(o.Stages)
	if err != nil {
		return Size{}, err
	}
	counters, err := o.counters()
	if err != nil {
		return Size{}, err
	}
	limits := o.Limits.WithDefaults()
	return Size{
		Paths:      limits.Paths + 1,
		PathStages: len(o.pathStages()),
		Stages:     len(known.Stages) + limits.Stages + 1,
		Counters:   len(counters) + limits.Counters + 1,
		Errors:     len(errorCodes) + 1,
	}, limits.check()
}

func (o Options) pathStages() []string {
	if o.PathStages == nil {
		return DefaultPathStages()
	}
	return o.PathStages
}

// counters returns the counters that have a label from the start.
func (o Options) counters() ([]string, error) {
	names := slices.Clone(defaultCounters)
	for i, name := range o.Counters {
		if err := checkName("Counters", i, name); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
