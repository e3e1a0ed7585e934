// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Options says what log to write. Either Size or Decisions must be set.
type Options struct {
	// Size is the number of bytes of text before compression. The log ends with
	// the event that reaches it.
	Size int64
	// Decisions is the number of decisions.
	Decisions int64

	Seed uint64
	// Start is the time of the first decision, from 1970 to 2200.
	// The default is 2026-01-02 03:04:05 UTC.
	Start time.Time
	// Rate is the average number of decisions a second, at most 1,000,000.
	// Decisions come in bursts, and some minutes have more than others. The
	// default is 500.
	Rate float64
	// Drift says how much latencies differ from minute to minute, for all
	// stages alike. A factor multiplies the latencies of a minute. Drift is the
	// standard deviation of the factor's logarithm to base 2, from 0 to 2.
	// Neighbouring minutes have similar factors.
	Drift float64

	// Container is one of Containers. The default is "ndjson".
	Container string
	// Compression is "none", "gzip" or "zstd". The default is "none". The
	// compressed bytes may differ between versions of the compression library.
	Compression string

	// EventBytes is the approximate size of an event before the container wraps
	// it, at most 64 MiB. The inputs fill events up to it, and their sizes
	// differ by a quarter. An event has 500 to 650 bytes if EventBytes is less.
	EventBytes int
	// Paths is the number of decision paths, at most 1,000,000. The second has
	// half the decisions of the first, the third a third, and so on. The
	// default is 10.
	Paths int

	// Bundles are the bundles of all servers.
	Bundles []Bundle

	// Regression, if not nil, makes a stage of the first path slower.
	Regression *Regression

	// BadShare is the share of decisions with a problem, from 0 to less than 1.
	// Each of them has one of the flaws. A line breaks off only if the
	// container has each event on its own line. Invalid UTF-8 occurs only if
	// the container has no event in a string.
	BadShare float64
	// OtherLines is the share of lines without an event, from 0 to less than 1.
	// Such lines are plain text, other lines of OPA such as its "Status Log",
	// and the Envoy plugin's debug line with the metrics of a decision. The
	// containers "upload" and "pretty" have none.
	OtherLines float64

	// File is the log's name in the truth.
	File string
}

// Bundle is a bundle and its revision.
type Bundle struct {
	Name, Revision string
	// NewRevision, if not "", is the revision from ChangeAt on.
	NewRevision string
	ChangeAt    time.Time
}

// Regression multiplies the durations of a stage of the first path.
type Regression struct {
	At     time.Time // the time of the first slow decision
	Stage  string    // such as "rego_query_eval"
	Factor float64   // from 1 to 1,000
}

// maxYears limits the time that a log covers.
const maxYears = 50

// Check returns an error if an option is invalid.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults returns the options with all defaults. It returns an error if an
// option is invalid. The error names the flag of the command.
func (o Options) withDefaults() (Options, error) {
	o.Container = cmp.Or(o.Container, "ndjson")
	o.Compression = cmp.Or(o.Compression, "none")
	o.Start = cmp.Or(o.Start, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o.Rate = cmp.Or(o.Rate, 500)
	o.Paths = cmp.Or(o.Paths, 10)
	f := formatOf(o.Container)
	switch {
	case (o.Size > 0) == (o.Decisions > 0) || o.Size < 0 || o.Decisions < 0:
		return o, errors.New("set either --size or --decisions to more than 0")
	case f == nil:
		return o, fmt.Errorf("invalid --form %q: use one of %s", o.Container, strings.Join(Containers(), ", "))
	case !slices.Contains(compressions, o.Compression):
		return o, fmt.Errorf("invalid --compress %q: use one of %s", o.Compression, strings.Join(compressions, ", "))
	case f.open != "" && o.OtherLines > 0:
		return o, fmt.Errorf("--other must be 0: a log of the form %q has only events", o.Container)
	}
	almostOne, factor := math.Nextafter(1, 0), 1.0
	if o.Regression != nil {
		factor = o.Regression.Factor
	}
	for _, bound := range []struct {
		option           string
		value, low, high float64
	}{
		{"--rate", o.Rate, 1e-3, 1e6},
		{"--drift", o.Drift, 0, 2},
		{"--event-size", float64(o.EventBytes), 0, 64 << 20},
		{"--paths", float64(o.Paths), 1, 1e6},
		{"--bad", o.BadShare, 0, almostOne},
		{"--other", o.OtherLines, 0, almostOne},
		{"year of --start", float64(o.Start.UTC().Year()), 1970, 2200},
		{"factor of --slower", factor, 1, 1000},
	} {
		if !(bound.value >= bound.low && bound.value <= bound.high) { // also if it is not a number
			to := fmt.Sprint(bound.high)
			if bound.high == almostOne {
				to = "less than 1"
			}
			return o, fmt.Errorf("invalid %s %v: it must be from %v to %s", bound.option, bound.value, bound.low, to)
		}
	}
	if events := float64(max(o.Decisions, o.Size/minEventBytes)); events/o.Rate > maxYears*365*24*3600 {
		return o, fmt.Errorf("invalid --rate %v: the log would cover more than %d years", o.Rate, maxYears)
	}
	switch r := o.Regression; {
	case r == nil:
	case r.At.Before(o.Start):
		return o, fmt.Errorf("invalid --slower: %v is before the first decision", r.At)
	case !slices.Contains(firstPathStages, r.Stage):
		return o, fmt.Errorf("invalid --slower: the first path has no stage %q: use one of %s", r.Stage, strings.Join(firstPathStages, ", "))
	}
	return o, nil
}
