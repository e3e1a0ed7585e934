// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package samplelog writes decision logs like those of Open Policy Agent (OPA),
// of any size and in several forms.
//
// It uses neither a clock nor the system's randomness: the same options give
// the same text. Durations are log-normal, and the duration of a stage includes
// those of the stages in it. The same options, with Decisions instead of Size,
// give the same decisions in all forms.
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

const (
	handler  = "server_handler"
	eval     = "rego_query_eval"
	parse    = "rego_input_parse"
	compile  = "rego_query_compile"
	query    = "rego_query_parse"
	resolve  = "rego_external_resolve"
	httpSend = "rego_builtin_http_send"
)

// firstPathStages lists the stages of each decision of the first path.
var firstPathStages = []string{resolve, parse, compile, eval, query, handler}

// Options says what log to write. Either Size or Decisions must be set.
type Options struct {
	// Size is the number of bytes. The log ends with the event that reaches it.
	Size      int64
	Decisions int64

	Seed uint64
	// Start is the time of the first decision. The default is 2026-01-02 03:04:05
	// UTC.
	Start time.Time
	// Rate is the average number of decisions a second, which come in bursts. The
	// default is 500.
	Rate float64
	// Form is one of Forms. The default is "ndjson".
	Form string
	// EventBytes is the approximate size of an event before a container wraps it,
	// at most 64 MiB. The inputs fill events up to it, and their sizes differ by a
	// quarter. An event has about 530 bytes if EventBytes is less.
	EventBytes int64
	// Paths is the number of decision paths, at most 1,000,000. The second has
	// half the decisions of the first, the third a third, and so on. The default
	// is 10.
	Paths int

	// Slower, if not nil, makes a stage of the first path slower.
	Slower *Slower
	// Revisions are those of the bundle "authz" of all servers, until the stage
	// becomes slower and from then on. Without one there is no bundle.
	Revisions [2]string
}

// Slower multiplies the durations of a stage by a factor.
type Slower struct {
	Stage  string        // such as "rego_query_eval"
	Factor float64       // from 1 to 1,000
	After  time.Duration // from Start to the first slow decision, not below 0
}

// Check returns an error if an option is invalid. The error names the flag of
// the command.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) withDefaults() (Options, error) {
	o.Form = cmp.Or(o.Form, "ndjson")
	o.Start = cmp.Or(o.Start, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).UTC()
	o.Rate = cmp.Or(o.Rate, 500)
	o.Paths = cmp.Or(o.Paths, 10)
	o.Slower = cmp.Or(o.Slower, &Slower{handler, 1, math.MaxInt64})
	switch {
	case (o.Size > 0) == (o.Decisions > 0) || o.Size < 0 || o.Decisions < 0:
		return o, errors.New("set either --size or --decisions to more than 0")
	case !slices.Contains(Forms, o.Form):
		return o, fmt.Errorf("invalid --form %q: use one of %s", o.Form, strings.Join(Forms, ", "))
	case !slices.Contains(firstPathStages, o.Slower.Stage):
		return o, fmt.Errorf("invalid --slower: the first path has no stage %q: use one of %s", o.Slower.Stage, strings.Join(firstPathStages, ", "))
	case !(o.Slower.Factor >= 1 && o.Slower.Factor <= 1000) || o.Slower.After < 0: // also if the factor is not a number
		return o, errors.New("invalid --slower: FACTOR must be from 1 to 1,000, and AFTER not below 0")
	case !(o.Rate >= 0.01 && o.Rate <= 1e6): // else the times leave the years that have four digits
		return o, fmt.Errorf("invalid --rate %v: it must be from 0.01 to 1,000,000", o.Rate)
	case o.Paths < 1 || o.Paths > 1e6:
		return o, fmt.Errorf("invalid --paths %d: it must be from 1 to 1,000,000", o.Paths)
	case o.EventBytes > 64<<20:
		return o, fmt.Errorf("invalid --event-size %d: it must be at most 64 MiB", o.EventBytes)
	}
	return o, nil
}
