// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Options says what log to write. What is zero has the default that is named;
// either Size or Decisions must be set.
type Options struct {
	// Size is how many bytes of text to write at least, before compression:
	// the log ends with the event that reaches it.
	Size int64
	// Decisions is how many decisions to write.
	Decisions int64

	Seed uint64
	// Start is the time of the first decision, in 1970 to 2200.
	// The default is 2026-01-02 03:04:05 UTC.
	Start time.Time
	// Rate is how many decisions there are a second on average. They come in
	// bursts, and some minutes have more than others. 0: 500. At most
	// 1,000,000.
	Rate float64
	// Drift is how far latencies of one minute differ from another's, all
	// stages alike: the standard deviation of the logarithm to base 2 of a
	// factor, from 0 to 2. Neighbouring minutes have a similar factor.
	Drift float64

	// Container is one of Containers. "": "ndjson".
	Container string
	// Compression is "none", "gzip" or "zstd". "": none. The compressed bytes
	// may differ between versions of the compression library.
	Compression string

	// EventBytes is about how long an event is before it is wrapped or
	// indented, through its input: at most 64 MiB. Inputs differ by a quarter.
	// An event has 500 to 650 bytes if this is less. 0: as short as can be.
	EventBytes int
	// Paths is how many decision paths there are, at most 1,000,000, named as
	// by PathNames. The second has half the decisions that the first has, the
	// third a third, and so on. 0: 10.
	Paths int

	// Instances is how many OPA servers write to the log, at most 1,000. 0: 3.
	Instances int
	// Labels are labels of the servers beside "id" and "version". The servers
	// have the values of a label in turn.
	Labels map[string][]string
	// Bundles are the bundles that the servers have.
	Bundles []Bundle

	// Regression, if not nil, makes a stage of a path slower.
	Regression *Regression

	// BadShare is the share of decisions with something wrong, from 0 to 1
	// exclusive. Each has one problem: a line that breaks off, invalid UTF-8,
	// no metrics, a metric that is a float, a string, beyond int64 or below 0,
	// a field or a metric that is there twice, a timestamp that is none. No
	// lines break off in containers whose events are not on a line each, and
	// there is no invalid UTF-8 in those that have the event in a string.
	BadShare float64
	// OtherLines is the share of lines that are no events, from 0 to 1
	// exclusive: plain text, other lines of OPA, among them its "Status Log",
	// and a debug line of the Envoy plugin with a decision's metrics. The
	// containers "upload" and "pretty" have none.
	OtherLines float64

	// File is how the truth calls the log.
	File string
}

// Bundle is a bundle and its revision.
type Bundle struct {
	// Name of the bundle. "" is for the single bundle of old OPAs, whose
	// revision is a field of the event.
	Name, Revision string
	// NewRevision, if not "", is the revision from ChangeAt on.
	NewRevision string
	ChangeAt    time.Time
}

// Regression makes what a stage of a path takes longer.
type Regression struct {
	At     time.Time // from then on
	Path   string    // one of PathNames. "": the first
	Stage  string    // such as "rego_query_eval", without "timer_" and "_ns"
	Factor float64   // from 1 to 1,000
}

const (
	maxPaths      = 1_000_000
	maxInstances  = 1_000
	maxEventBytes = 64 << 20
	maxRate       = 1_000_000
	maxYears      = 50
)

// withDefaults returns the options with all that was left out, or an error that
// names the option that is wrong.
func (o Options) withDefaults() (Options, error) {
	setDefault(&o.Container, "ndjson")
	setDefault(&o.Compression, "none")
	setDefault(&o.Start, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	setDefault(&o.Rate, 500)
	setDefault(&o.Paths, 10)
	setDefault(&o.Instances, 3)
	return o, o.check()
}

func setDefault[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}

func (o *Options) check() error {
	if (o.Size > 0) == (o.Decisions > 0) || o.Size < 0 || o.Decisions < 0 {
		return errors.New("samplelog: set either Size or Decisions, to more than 0")
	}
	f := formatOf(o.Container)
	switch {
	case f == nil:
		return fmt.Errorf("samplelog: Container: %q is none: use one of %s", o.Container, strings.Join(Containers(), ", "))
	case !slices.Contains(compressions, o.Compression):
		return fmt.Errorf("samplelog: Compression: %q is none: use one of %s", o.Compression, strings.Join(compressions, ", "))
	case f.array && o.OtherLines > 0:
		return fmt.Errorf("samplelog: OtherLines: container %q has no other lines", o.Container)
	}
	for _, bound := range []struct {
		option           string
		value, low, high float64
	}{
		{"Rate", o.Rate, 1e-3, maxRate},
		{"Drift", o.Drift, 0, 2},
		{"EventBytes", float64(o.EventBytes), 0, maxEventBytes},
		{"Paths", float64(o.Paths), 1, maxPaths},
		{"Instances", float64(o.Instances), 1, maxInstances},
		{"BadShare", o.BadShare, 0, math.Nextafter(1, 0)},
		{"OtherLines", o.OtherLines, 0, math.Nextafter(1, 0)},
		{"the year of Start", float64(o.Start.UTC().Year()), 1970, 2200},
	} {
		if !(bound.value >= bound.low && bound.value <= bound.high) {
			return fmt.Errorf("samplelog: %s is %v: it must be from %v to %v", bound.option, bound.value, bound.low, bound.high)
		}
	}
	if events := float64(max(o.Decisions, o.Size/minEventBytes)); events/o.Rate > maxYears*365*24*3600 {
		return fmt.Errorf("samplelog: Rate: at %v decisions a second the log would cover more than %d years", o.Rate, maxYears)
	}
	if err := o.checkLabels(); err != nil {
		return err
	}
	if err := o.checkBundles(); err != nil {
		return err
	}
	return o.checkRegression()
}

func (o *Options) checkLabels() error {
	for _, name := range sortedKeys(o.Labels) {
		switch {
		case name == "id" || name == "version":
			return fmt.Errorf("samplelog: Labels: OPA itself sets label %q", name)
		case len(o.Labels[name]) == 0:
			return fmt.Errorf("samplelog: Labels: label %q has no values", name)
		}
	}
	return nil
}

func (o *Options) checkBundles() error {
	for i, b := range o.Bundles {
		switch {
		case b.Revision == "":
			return fmt.Errorf("samplelog: Bundles[%d]: bundle %q has no Revision", i, b.Name)
		case (b.NewRevision == "") != b.ChangeAt.IsZero():
			return fmt.Errorf("samplelog: Bundles[%d]: bundle %q needs both NewRevision and ChangeAt, or none", i, b.Name)
		case b.Name == "" && len(o.Bundles) > 1:
			return fmt.Errorf("samplelog: Bundles[%d]: a bundle without a name must be the only one", i)
		case slices.ContainsFunc(o.Bundles[:i], func(other Bundle) bool { return other.Name == b.Name }):
			return fmt.Errorf("samplelog: Bundles[%d]: bundle %q is there twice", i, b.Name)
		}
	}
	return nil
}

func (o *Options) checkRegression() error {
	r := o.Regression
	if r == nil {
		return nil
	}
	if !(r.Factor >= 1 && r.Factor <= 1000) {
		return fmt.Errorf("samplelog: Regression.Factor is %v: it must be from 1 to 1000", r.Factor)
	}
	if r.At.Before(o.Start) {
		return fmt.Errorf("samplelog: Regression.At is %v, before Start", r.At)
	}
	at := 0
	if r.Path != "" {
		if at = slices.Index(PathNames(o.Paths), r.Path); at < 0 {
			return fmt.Errorf("samplelog: Regression.Path: %q is none of the %d paths", r.Path, o.Paths)
		}
	}
	s := stageOf(r.Stage)
	if s < 0 || !profileOf(at).has(s) {
		return fmt.Errorf("samplelog: Regression.Stage: %q is no stage of path %q", r.Stage, pathName(at))
	}
	return nil
}
