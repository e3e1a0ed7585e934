// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/compare"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/text"
)

func newCompareCommand() *cobra.Command {
	var read report.Options
	var o compare.Options
	var top int
	var write func(w io.Writer, c *compare.Comparison, top int) error
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say which paths and stages became slower from one log to another",
		Long: `Reads two decision logs, folders with logs, or reports that "regometer report --save"
saved. For each path and stage it prints the change of the median and of the p99, with
confidence intervals. A row is slower, faster, "no difference" if the change is no more
than noise, or "too little data".

Latencies within a minute are alike. So the command compares minutes, not decisions,
and each side should have half an hour or more. All intervals together are right with
a probability of 95 %: at most one in twenty comparisons of like with like finds any
change.

With --fail-on the exit status is 3 if the whole interval of a change lies above a
threshold.`,
		Example: `  regometer compare before/ after/
  regometer compare --fail-on 'p99:rego_query_eval>+20%' monday.rgm tuesday.rgm
  regometer compare --path httpapi --stage server_handler --format markdown before after`,
		Args: cobra.ExactArgs(2),
		PreRunE: func(_ *cobra.Command, args []string) error {
			read.Inputs = args
			return read.Check()
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			files, err := report.InputFiles(args)
			if err != nil {
				return err
			}
			if err := new(outputs).check(cmd, files); err != nil {
				return err
			}
			limitMemory()
			var sides [2]*report.Report
			for i, input := range args {
				read.Inputs = []string{input}
				if sides[i], err = readSide(cmd.Context(), read, cmd.ErrOrStderr()); err != nil {
					return fmt.Errorf("%s: %w", input, err)
				}
			}
			c, err := compare.Reports(sides[0], sides[1], o)
			if err != nil {
				return err
			}
			if err := write(cmd.OutOrStdout(), c, top); err != nil {
				return err
			}
			return checkThresholds(c, o.Thresholds, cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&read.By, "by", "path", "key of the groups, as in regometer report")
	flags.StringSliceVar(&read.Paths, "path", nil, "only decisions whose path begins with this `pattern`, such as httpapi/authz")
	flags.StringSliceVar(&o.Stages, "stage", nil, "only these `stages`, such as rego_query_eval; fewer rows have narrower intervals")
	flags.Func("fail-on", "`threshold` such as 'p99:rego_query_eval>+20%'; may be given several times", func(text string) error {
		t, err := compare.ParseThreshold(text)
		o.Thresholds = append(o.Thresholds, t)
		return err
	})
	addFormatFlag(cmd, &write, comparisonFormats)
	flags.IntVar(&top, "top", 20, "number of rows in the table; 0 for all")
	return cmd
}

// readSide reads one of the two sides, logs or a saved report, and shows the
// progress.
func readSide(ctx context.Context, o report.Options, stderr io.Writer) (*report.Report, error) {
	if name := o.Inputs[0]; report.IsSaved(name) {
		x, err := report.Load(name)
		if err != nil {
			return nil, err
		}
		return x.Report(), nil
	}
	progress := newProgressLine(stderr)
	defer progress.clear()
	o.Progress = progress.report
	x, err := report.Read(ctx, o)
	if err != nil {
		return nil, err
	}
	r := x.Report()
	if r.Interrupted { // half a side would be compared with a whole one
		return nil, ctx.Err()
	}
	return r, nil
}

// checkThresholds prints the thresholds that are exceeded. It returns an error
// if there are any, or if there is no data to judge one by.
func checkThresholds(c *compare.Comparison, thresholds []compare.Threshold, stderr io.Writer) error {
	failed := false
	for _, t := range thresholds {
		rows, judged := c.Exceed(t)
		if judged == 0 {
			return fmt.Errorf("--fail-on %v cannot be judged: no row has this stage and enough data on both sides", t)
		}
		if len(rows) > 0 {
			failed = true
			fmt.Fprintf(stderr, "regometer: %d rows exceed %v; the first has the %s %q\n", len(rows), t, c.By, rows[0].Key)
		}
	}
	if failed {
		return statusError(exitExceeded)
	}
	return nil
}

// comparisonFormats are the functions that write a comparison in each format.
var comparisonFormats = map[string]func(w io.Writer, c *compare.Comparison, top int) error{
	"table": func(w io.Writer, c *compare.Comparison, top int) error {
		width, _ := terminal(w)
		return c.WriteTable(w, text.Options{Width: width, Top: top})
	},
	"markdown": func(w io.Writer, c *compare.Comparison, top int) error { return c.WriteMarkdown(w, top) },
	"json":     func(w io.Writer, c *compare.Comparison, _ int) error { return c.WriteJSON(w) },
}
