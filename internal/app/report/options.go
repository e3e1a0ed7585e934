// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
)

// Options says what [Read] reads, and what it makes of it.
type Options struct {
	// Inputs are files, folders, whose files are read, and their folders',
	// patterns as filepath.Match has them, and "-" for Stdin. A file that is
	// reached in several ways is read once.
	Inputs []string
	Stdin  io.Reader

	// By is what decisions are grouped by: "path" (also if it is empty),
	// "stage", "bundle", "requested_by" (without the port), "hour", "day", or
	// "label:KEY".
	By string
	// Paths, if there are any, are patterns of which a decision's path must
	// match one: the first segments of a path, where * stands for any.
	Paths []string
	// Since and Until bound the decisions' times, Until not included. With
	// either, decisions without a time are left out.
	Since, Until time.Time
	// Slowest is how many of the slowest decisions are listed, at most
	// 1,000,000.
	Slowest int

	// Exact makes quantiles exact: all durations are kept, and sorted. It is
	// for logs of at most MaxExact of them, and what it keeps is not saved.
	Exact bool
	// Strict makes the reader check all of the JSON of each event, which it
	// else does only for what it looks at.
	Strict bool
	// Workers is how many goroutines read. 0: GOMAXPROCS.
	Workers int
	// Limits bounds the memory of the groups.
	Limits groupby.Limits

	// Progress, if not nil, is called a few times a second.
	Progress func(Progress)

	// Each, if not nil, is called for each worker, after the inputs have been
	// found and before anything is read. What it returns is called with each
	// decision that the options let through and that the worker reads: by one
	// goroutine at a time, but for several workers at once, and in no order.
	// If it returns an error, reading ends, and Read returns that.
	//
	// key tells the key of a measure's number, such as
	// "timer_rego_query_eval_ns". It is for the same goroutine, and for the
	// measures of the decision that the function was called with. The
	// decision's Line counts from where the worker began to read the file.
	Each func(key func(metric int32) string) func(*decisionlog.Event) error
}

const maxSlowest = 1_000_000

// Progress is how far [Read] has come.
type Progress struct {
	Bytes, Of int64 // as they are in the files; Of is 0 if it is not known
	Decisions int64
	Elapsed   time.Duration
}

// Check returns the error that [Read] returns of options that make no sense.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults returns the options with what was left out.
func (o Options) withDefaults() (Options, error) {
	if len(o.Inputs) == 0 {
		return o, errors.New("no decision logs: name files, folders, or - for standard input")
	}
	for _, pattern := range o.Paths {
		if strings.Trim(pattern, "/") == "" {
			return o, fmt.Errorf("path pattern %q is empty: a pattern is like httpapi/authz or tenants/*/authz", pattern)
		}
	}
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until) {
		return o, fmt.Errorf("since %s is not before until %s", o.Since.Format(time.RFC3339), o.Until.Format(time.RFC3339))
	}
	if o.Slowest < 0 || o.Slowest > maxSlowest {
		return o, fmt.Errorf("slowest is %d: it must be from 0 to %d", o.Slowest, maxSlowest)
	}
	if o.By == "" {
		o.By = "path"
	}
	if _, err := keyOf(o.By); err != nil {
		return o, err
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o, nil
}
