// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

func newSampleCommand() *cobra.Command {
	var o samplelog.Options
	var slower string
	cmd := &cobra.Command{
		Use:   "sample",
		Short: "Write a synthetic decision log",
		Long: `Writes a decision log as OPA servers write it, of any size, to standard output. The
same flags give the same log.

The forms:
` + list(samplelog.Forms),
		Example: `  regometer sample > decisions.log
  regometer sample --size 2GB --event-size 8KB --form docker > large.log
  regometer sample --slower rego_query_eval=1.5@1h > slower.log`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cmd.Flags().Changed("decisions") {
				o.Size = 0
			}
			if o.Slower, err = slowerOf(slower); err != nil {
				return fmt.Errorf("--slower: %w", err)
			}
			if o.Paths == 0 || o.Rate == 0 { // package samplelog would take its defaults
				return errors.New("--paths and --rate must be more than 0")
			}
			return o.Check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			progress, start, written := newProgressLine(cmd.ErrOrStderr()), time.Now(), 0
			progress.on = progress.on && !newProgressLine(cmd.OutOrStdout()).on // else it would appear inside the log
			defer progress.clear()
			return samplelog.Write(writerFunc(func(p []byte) (int, error) {
				if err := cmd.Context().Err(); err != nil {
					return 0, err
				}
				written += len(p)
				progress.show(time.Since(start), fmt.Sprintf("%d MB written", written/1e6))
				return cmd.OutOrStdout().Write(p)
			}), o)
		},
	}
	flags := cmd.Flags()
	o.Size = 10_000_000
	flags.Func("size", "`size` of the log, such as 500KB or 2GB (default 10MB)", func(text string) (err error) {
		o.Size, err = sizeOf(text)
		return err
	})
	flags.Int64Var(&o.Decisions, "decisions", 0, "number of decisions, instead of a size")
	flags.StringVar(&o.Form, "form", "ndjson", "form of the log")
	sizeFlag(cmd, &o.EventBytes, "event-size", "approximate `size` of an event, such as 8KB; the input fills it up")
	flags.IntVar(&o.Paths, "paths", 10, "number of decision paths")
	flags.Float64Var(&o.Rate, "rate", 500, "decisions a second")
	flags.StringVar(&slower, "slower", "", "make a stage of the first path slower after a time: `STAGE=FACTOR@AFTER`")
	flags.Uint64Var(&o.Seed, "seed", 1, "random `number`: each gives another log of the same kind")
	cmd.MarkFlagsMutuallyExclusive("size", "decisions")
	return cmd
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// slowerOf parses STAGE=FACTOR@AFTER.
func slowerOf(text string) (*samplelog.Slower, error) {
	if text == "" {
		return nil, nil
	}
	stage, rest, ok := strings.Cut(text, "=")
	number, after, ok2 := strings.Cut(rest, "@")
	factor, err := strconv.ParseFloat(number, 64)
	d, err2 := time.ParseDuration(after)
	if !ok || !ok2 || err != nil || err2 != nil {
		return nil, fmt.Errorf("invalid value %q: write STAGE=FACTOR@AFTER, such as rego_query_eval=1.5@30m", text)
	}
	return &samplelog.Slower{Stage: stage, Factor: factor, After: d}, nil
}
