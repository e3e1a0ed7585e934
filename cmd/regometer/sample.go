// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/samplelog"
)

func newSampleCommand() *cobra.Command {
	var o samplelog.Options
	var size, start, eventSize, slower string
	var log *output
	cmd := &cobra.Command{
		Use:   "sample",
		Short: "Write a decision log to try things with",
		Long: `Writes a decision log as OPA servers write it, of any size and in any form. Beside
the log, FILE.truth.json has the content of a correct report, with exact quantiles.
The same flags give the same log on every machine.

The command replaces a log only if its truth is beside it, and the truth only by a
truth. --force replaces other files too.

The forms: ` + strings.Join(samplelog.Containers(), ", ") + `.`,
		Example: `  regometer sample -o decisions.log
  regometer sample --size 2GB --event-size 8KB -o large.log
  regometer sample --form docker --bad 0.01 --compress gzip -o docker.log.gz
  regometer sample --slower rego_query_eval=1.5@1h -o slower.log`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !cmd.Flags().Changed("decisions") {
				if o.Size, err = sizeOf(size); err != nil {
					return fmt.Errorf("--size: %w", err)
				}
			}
			bytes, err := sizeOf(eventSize)
			if err != nil {
				return fmt.Errorf("--event-size: %w", err)
			}
			o.EventBytes = int(bytes)
			o.Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			if start != "" {
				if o.Start, err = time.Parse(time.RFC3339, start); err != nil {
					return fmt.Errorf("--start: %w", err)
				}
			}
			if o.Regression, err = regressionOf(slower, o.Start); err != nil {
				return fmt.Errorf("--slower: %w", err)
			}
			o.File = log.name
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if log.name == "-" {
				_, err := samplelog.Write(untilDone(cmd.Context(), cmd.OutOrStdout(), newProgressLine(io.Discard)), o)
				return err
			}
			truth := log.outputs.add(log.flag, truthKind)
			truth.name = log.name + samplelog.TruthSuffix
			if err := log.outputs.check(cmd, nil); err != nil {
				return err
			}
			return writeSample(cmd.Context(), log, truth, o, newProgressLine(cmd.ErrOrStderr()))
		},
	}
	flags := cmd.Flags()
	log = newOutputs(cmd).flag(cmd, "output", "o", kind{name: "a log with its truth beside it", is: func(string) bool {
		return truthKind.is(log.name + samplelog.TruthSuffix)
	}}, "`file` for the log; - for standard output, without the truth")
	flags.StringVar(&size, "size", "10MB", "size of the log, such as 500KB or 2GB")
	flags.Int64Var(&o.Decisions, "decisions", 0, "number of decisions, instead of a size")
	flags.StringVar(&o.Container, "form", "ndjson", "form of the log")
	flags.StringVar(&o.Compression, "compress", "none", "none, gzip or zstd")
	flags.StringVar(&eventSize, "event-size", "0", "approximate size of an event, such as 8KB; its input fills it")
	flags.IntVar(&o.Paths, "paths", 10, "number of decision paths")
	flags.Float64Var(&o.Rate, "rate", 500, "decisions a second")
	flags.Float64Var(&o.Drift, "drift", 0, "how much the latencies of one minute differ from another's: 0 to 2")
	flags.StringVar(&start, "start", "", "`time` of the first decision (default 2026-01-02T03:04:05Z)")
	flags.StringVar(&slower, "slower", "", "make a stage of the first path slower after a time: `STAGE=FACTOR@AFTER`")
	flags.Float64Var(&o.BadShare, "bad", 0, "share of the decisions with a problem: 0.01 is 1 %")
	flags.Float64Var(&o.OtherLines, "other", 0, "share of the lines without a decision")
	flags.Uint64Var(&o.Seed, "seed", 1, "another number gives another log of the same kind")
	cmd.MarkFlagsMutuallyExclusive("size", "decisions")
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err) // the flag does not exist
	}
	return cmd
}

// writeSample writes a log and its truth.
func writeSample(ctx context.Context, log, truth *output, o samplelog.Options, progress *progressLine) error {
	var is *samplelog.Truth
	err := log.write(func(w io.Writer) (err error) {
		is, err = samplelog.Write(untilDone(ctx, w, progress), o)
		return err
	})
	progress.clear()
	if err != nil {
		return err
	}
	return truth.write(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(is)
	})
}

// untilDone returns a writer that writes to w until ctx ends, and shows the
// progress.
func untilDone(ctx context.Context, w io.Writer, progress *progressLine) io.Writer {
	start, written := time.Now(), int64(0)
	return writerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := w.Write(p)
		written += int64(n)
		progress.show(time.Since(start), fmt.Sprintf("%d MB written", written/1e6))
		return n, err
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// sizeOf parses a size, with or without a unit such as KB, 1,000 bytes.
func sizeOf(text string) (int64, error) {
	number, factor := strings.TrimSuffix(strings.ToUpper(text), "B"), int64(1)
	for i, unit := range [...]string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number = rest
			for range i + 1 {
				factor *= 1000
			}
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n*float64(factor) >= 1<<62 {
		return 0, fmt.Errorf("invalid size %q: write 500KB, 10MB or 2GB", text)
	}
	return int64(n * float64(factor)), nil
}

// regressionOf parses STAGE=FACTOR@AFTER.
func regressionOf(text string, start time.Time) (*samplelog.Regression, error) {
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
	return &samplelog.Regression{At: start.Add(d), Stage: stage, Factor: factor}, nil
}
