// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"cmp"
	"fmt"
)

// Other is the label of what has no label of its own.
const Other = "other"

// maxName is the longest name or path in bytes that may become a label, so that
// memory does not depend on what clients send.
const maxName = 1024

// Options configures a Rollup. The zero value is the default.
type Options struct {
	Limits Limits

	// Label returns the path label that decisions of this path get; false sends
	// them to Other. nil: the path itself. It is called once for each decision,
	// in the goroutine that adds it, so it must be fast and safe from any.
	Label func(path string) (label string, ok bool)

	// Stages extends the table of stages, or replaces entries of the same name.
	Stages []Stage
}

// Limits bounds labels and memory. A zero field is the default.
type Limits struct {
	Paths      int // labelled paths: 50
	Stages     int // labelled stages: 16
	Counters   int // labelled counters: 16
	Histograms int // of a stage and a path each, those of path Other included: 100; at least Stages+1
	Events     int // totals of a counter and a path each, those of path Other included: 200; at least Counters+1
}

var defaultLimits = Limits{Paths: 50, Stages: 16, Counters: 16, Histograms: 100, Events: 200}

// WithDefaults returns the limits that hold: l, with the defaults in the place
// of zeros.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Paths:      cmp.Or(l.Paths, defaultLimits.Paths),
		Stages:     cmp.Or(l.Stages, defaultLimits.Stages),
		Counters:   cmp.Or(l.Counters, defaultLimits.Counters),
		Histograms: cmp.Or(l.Histograms, defaultLimits.Histograms),
		Events:     cmp.Or(l.Events, defaultLimits.Events),
	}
}

// check is called with limits that hold.
func (l Limits) check() error {
	for _, f := range [...]struct {
		name            string
		value, fallback int
	}{
		{"Paths", l.Paths, defaultLimits.Paths},
		{"Stages", l.Stages, defaultLimits.Stages},
		{"Counters", l.Counters, defaultLimits.Counters},
		{"Histograms", l.Histograms, defaultLimits.Histograms},
		{"Events", l.Events, defaultLimits.Events},
	} {
		if f.value < 0 {
			return fmt.Errorf("rollup: Limits.%s is %d: it must be 0, which stands for %d, or positive",
				f.name, f.value, f.fallback)
		}
	}
	// Written so that Stages+1 cannot overflow.
	if l.Histograms <= l.Stages {
		return tooFew("Histograms", l.Histograms, "Stages", l.Stages)
	}
	if l.Events <= l.Counters {
		return tooFew("Events", l.Events, "Counters", l.Counters)
	}
	return nil
}

func tooFew(name string, value int, of string, n int) error {
	return fmt.Errorf("rollup: Limits.%s is %d: it must exceed Limits.%s, which is %d, "+
		"since path %q has one for each and one for the rest", name, value, of, n, Other)
}
