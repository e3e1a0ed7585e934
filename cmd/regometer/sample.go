// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

func newSampleCommand() *cobra.Command {
	var o samplelog.Options
	var slower string
	var log *outputFile
	cmd := &cobra.Command{
		Use:   "sample",
		Short: "Write a synthetic decision log",
		Long: `Writes a decision log as OPA servers write it, of any size and in any form. The file
FILE.truth.json beside the log has the content of a correct report, with exact
quantiles. The same flags give the same log on every machine.

The command replaces a log only if its truth is beside it, and FILE.truth.json only if
that is the truth of a log. --force also replaces other files.

The forms:
` + list(samplelog.Containers()),
		Example: `  regometer sample -o decisions.log
  regometer sample --size 2GB --event-size 8KB -o large.log
  regometer sample --form docker --bad 0.01 --compress gzip -o docker.log.gz
  regometer sample --slower rego_query_eval=1.5@1h -o slower.log`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cmd.Flags().Changed("decisions") {
				o.Size = 0
			}
			if o.Regression, err = regressionOf(slower, o.Start); err != nil {
				return fmt.Errorf("--slower: %w", err)
			}
			if o.Paths == 0 || o.Rate == 0 { // package samplelog would take its defaults
				return errors.New("--paths and --rate must be more than 0")
			}
			o.File = log.name
			return o.Check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			var truth *samplelog.Truth
			progress, start, written := newProgressLine(cmd.ErrOrStderr()), time.Now(), 0
			write := func(w io.Writer) (err error) {
				truth, err = samplelog.Write(writerFunc(func(p []byte) (int, error) {
					if err := cmd.Context().Err(); err != nil {
						return 0, err
					}
					n, err := w.Write(p)
					written += n
					progress.show(time.Since(start), fmt.Sprintf("%d MB written", written/1e6))
					return n, err
				}), o)
				progress.clear()
				return err
			}
			if log.name == "-" {
				progress.on = false // it would appear inside the log
				return write(cmd.OutOrStdout())
			}
			file := &outputFile{outputs: log.outputs, flag: log.flag, name: log.name + samplelog.TruthSuffix, kind: truthKind}
			log.outputs.all = append(log.outputs.all, file)
			if err := log.outputs.check(cmd, nil); err != nil {
				return err
			}
			if err := log.write(write); err != nil {
				return err
			}
			return file.write(func(w io.Writer) error {
				e := json.NewEncoder(w)
				e.SetIndent("", "  ")
				return e.Encode(truth)
			})
		},
	}
	flags := cmd.Flags()
	log = newOutputs(cmd).flag(cmd, "output", "o", kind{name: "a log with its truth beside it", is: func(string) bool {
		return truthKind.is(log.name + samplelog.TruthSuffix)
	}}, "`file` for the log; - for standard output, without the truth")
	o.Size = 10_000_000
	flags.Func("size", "`size` of the log, such as 500KB or 2GB (default 10MB)", func(text string) (err error) {
		o.Size, err = sizeOf(text)
		return err
	})
	flags.Int64Var(&o.Decisions, "decisions", 0, "number of decisions, instead of a size")
	flags.StringVar(&o.Container, "form", "ndjson", "form of the log")
	flags.StringVar(&o.Compression, "compress", "none", "compression of the log: none, gzip or zstd")
	flags.Func("event-size", "approximate `size` of an event, such as 8KB; the input fills it up", func(text string) error {
		n, err := sizeOf(text)
		o.EventBytes = int(n)
		return err
	})
	flags.IntVar(&o.Paths, "paths", 10, "number of decision paths")
	flags.Float64Var(&o.Rate, "rate", 500, "decisions a second")
	flags.Float64Var(&o.Drift, "drift", 0, "how much latencies differ from minute to minute: 0 to 2")
	flags.TimeVar(&o.Start, "start", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), []string{time.RFC3339}, "time of the first decision")
	flags.StringVar(&slower, "slower", "", "make a stage of the first path slower after a time: `STAGE=FACTOR@AFTER`")
	flags.Float64Var(&o.BadShare, "bad", 0, "share of the decisions with a problem: 0.01 is 1 %")
	flags.Float64Var(&o.OtherLines, "other", 0, "share of the lines that have no decision")
	flags.Uint64Var(&o.Seed, "seed", 1, "random `number`: each gives another log of the same kind")
	cmd.MarkFlagsMutuallyExclusive("size", "decisions")
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err) // the flag does not exist
	}
	return cmd
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// sizeOf parses a size with or without a unit. KB is 1,000 bytes, KiB 1,024.
func sizeOf(text string) (int64, error) {
	number, factor := strings.TrimSuffix(strings.ToUpper(text), "B"), 1.0
	number, isBinary := strings.CutSuffix(number, "I")
	for i, unit := range [...]string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, factor = rest, math.Pow10(3*(i+1))
			if isBinary {
				factor = math.Ldexp(1, 10*(i+1))
			}
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= factor; err != nil || !(n >= 0 && n < 1<<62) {
		return 0, errors.New("write a size such as 500KB, 10MB or 2GiB")
	}
	return int64(n), nil
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
