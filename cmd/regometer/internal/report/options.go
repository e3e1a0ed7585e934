// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/verdicts"
)

// Options configures [Read].
type Options struct {
	// Inputs are files, folders with their subfolders, and "-" for Stdin. A
	// file is read only once, even if several inputs name it.
	Inputs []string
	Stdin  io.Reader

	// By says how decisions are grouped: by "path", which is the default,
	// "bundle", "requested_by" (without the port), "hour", "day",
	// "label:KEY", "rule:KEY", where a decision is in the group of each value
	// that the rules' labels have, or "input:FIELD" or "result:FIELD". A field
	// is names with dots, or a JSON pointer, which begins with a slash. A
	// decision is in the group of each element of a list.
	By string
	// Paths are patterns. If there are some, a decision's path must match one
	// of them. A pattern has the first segments of a path, where * stands for
	// any segment.
	Paths []string
	// Since and Until limit the decisions' times, without Until itself. With
	// either of them, decisions without a time are left out.
	Since, Until time.Time
	// Outcomes are the rules that tell the outcomes of results, by path.
	Outcomes map[string]string
	Verdicts *verdicts.Set // of these rules; Check sets it
	// Slowest is the number of slowest decisions that are listed.
	Slowest int

	// Unique counts a decision once if several have the same id, time and path.
	// Of copies that differ, the one that a worker reads first counts, so the
	// data may depend on the number of workers then, and also if there are more
	// decisions than [Read] can remember, 1,048,576.
	Unique bool
	// Workers is the number of goroutines that read. 0 stands for GOMAXPROCS.
	Workers int

	// Progress, if not nil, is called after each block that was read, by several
	// goroutines at the same time.
	Progress func(Progress)

	// Each, if not nil, is called for each worker, after the inputs have been
	// found and before anything is read. It returns a function that gets each
	// decision that the worker reads and the options select, with the keys of
	// its groups if By allows several. One goroutine at a time calls the
	// function. The functions of several workers are called at the same time,
	// and decisions come in no order. If a function returns an error, reading
	// ends, and Read returns the error.
	//
	// key returns the key for a measure's number, such as
	// "timer_rego_query_eval_ns". Only the function may call it, and only for
	// measures of its decision. place returns a function that returns the place
	// of the function's decision, which is known when Read has returned: the
	// decision's Line counts from where the worker began to read the file.
	Each func(key func(metric int32) string, place func(*logread.Event) func() Place) func(*logread.Event, [][]byte) error
}

// Progress is the progress of [Read].
type Progress struct {
	Bytes, Of int64 // read so far, and in all files; Of is 0 if it is unknown
	Decisions int64
	Elapsed   time.Duration
}

// String returns a line with the bytes read, the speed, and the time left.
func (p Progress) String() string {
	line := text.Bytes(p.Bytes)
	if p.Of > 0 {
		line += " of " + text.Bytes(p.Of)
	}
	rate := float64(p.Bytes) / max(p.Elapsed.Seconds(), 1e-9)
	line += fmt.Sprintf(", %s/s, %s", text.Bytes(int64(rate)), text.Plural(p.Decisions, "decision"))
	if p.Of > p.Bytes && rate > 0 {
		left := time.Duration(float64(p.Of-p.Bytes) / rate * float64(time.Second))
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}

// Check sets the defaults of empty fields. It returns the error that [Read]
// returns for invalid options.
func (o *Options) Check() error {
	if len(o.Inputs) == 0 {
		return errors.New("no decision logs: name files, folders, or - for standard input")
	}
	for _, pattern := range o.Paths {
		if strings.Trim(pattern, "/") == "" {
			return fmt.Errorf("--path %q is empty: write a pattern such as httpapi/authz or tenants/*/authz", pattern)
		}
	}
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until) {
		return fmt.Errorf("--since %s is not before --until %s", o.Since.Format(time.RFC3339), o.Until.Format(time.RFC3339))
	}
	o.By = cmp.Or(o.By, "path")
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	var err error
	if o.Verdicts, err = verdicts.New(o.Outcomes); err != nil {
		return fmt.Errorf("--outcome %w", err)
	}
	_, err = keyOf(o.By)
	return err
}
