// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/compare"
	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

func newCompareCommand() *cobra.Command {
	var read report.Options
	var thresholds []compare.Threshold
	shown := output.Options{Suite: "regometer compare"}
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Show what changed from one log to another: decisions and times",
		Long: `Compares two decision logs, folders of logs, or reports that "regometer report --save"
saved. The first line says whether decisions changed. For each path, the command prints
how the share of each outcome changed, and for each stage of a path the median and the
p99, all with confidence intervals. Each side should cover half an hour or more.

The values of --by input:FIELD and --by result:FIELD may be personal data. The output,
also as annotations, then contains them.

With --fail-on, the exit status is 3 if the whole interval of a change is beyond a
threshold. A threshold for times has a quantile (p50, p90, p95, p99 or p99.9), a stage and
a percentage. A threshold for decisions has an outcome (allowed, denied, other, undefined,
error or cancelled) and percentage points. > stands for a rise, < for a fall. Without
@PATH, a threshold is for each path. The status is 4 if a side has no decisions.`,
		Example: `  regometer compare before/ after/
  regometer compare --fail-on 'denied>+5pp' --fail-on 'allowed@httpapi/authz<-5pp' before/ after/
  regometer compare --fail-on 'p99:rego_query_eval>+20%' monday.rgm tuesday.rgm
  regometer compare --path httpapi --format markdown before after
  regometer compare --outcome 'app/main=result.granted' before.log after.log`,
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("name two logs or saved reports, before and after, not %d", len(args))
			}
			if args[0] == "-" && args[1] == "-" {
				return errors.New("standard input cannot be both sides: write one of them to a file")
			}
			read.Inputs = args
			return read.Check()
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if _, err := report.InputFiles(args); err != nil { // before the first side is read
				return err
			}
			limitMemory()
			read.Stdin = cmd.InOrStdin()
			var sides [2]*report.Report
			for i, input := range args {
				read.Inputs = []string{input}
				if sides[i], err = readSide(cmd, read); err != nil {
					return err
				}
			}
			for i, side := range sides {
				if cmd.Flags().Changed("by") && side.By != read.By {
					return fmt.Errorf("%s was saved with --by %s: leave out --by %s", args[i], side.By, read.By)
				}
				if side.Total.Decisions == 0 {
					explain(cmd.ErrOrStderr(), &side.Inputs)
					which := ""
					if side.Inputs.Decisions > 0 {
						which = " that --path, --since and --until select"
					}
					return emptyError(cmd.ErrOrStderr(), &side.Inputs, report.Called(args[i])+" has no decisions"+which+", so there is nothing to compare")
				}
				for _, f := range side.Findings {
					if f.Rule == report.PartlyRead || f.Rule == "metrics_missing" || f.Rule == report.Repeated {
						fmt.Fprintf(cmd.ErrOrStderr(), "regometer: %s: %s\n", args[i], text.Fit(f.Text, 1000))
					}
				}
			}
			explainRules(cmd.ErrOrStderr(), read.Outcomes, append(pathsOf(sides[0]), pathsOf(sides[1])...))
			c, err := compare.Reports(sides[0], sides[1], thresholds...)
			if err != nil {
				return err
			}
			if err := printResult(cmd.OutOrStdout(), c, shown); err != nil {
				return err
			}
			return failedChecks(cmd.ErrOrStderr(), c.Checks(nil))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&read.By, "by", "path", "group decisions by this `KEY`, as regometer report does")
	addReadFlags(cmd, &read)
	flags.Func("fail-on", "exit with status 3 beyond this `threshold`, such as 'denied>+5pp' or 'p99:rego_query_eval>+20%'; may be repeated", func(text string) error {
		t, err := compare.ParseThreshold(text)
		thresholds = append(thresholds, t)
		return err
	})
	addFormatFlag(cmd, &shown)
	addNumberFlag(cmd, &shown.Top, "top", 20, "`number` of rows in each table; 0 for all, with all outcomes (default 20)")
	return cmd
}

// readSide reads one of the two sides, which is logs or a saved report, and
// shows the progress.
func readSide(cmd *cobra.Command, o report.Options) (*report.Report, error) {
	if name := o.Inputs[0]; report.IsSaved(name) {
		for _, flag := range readFlags {
			if cmd.Flags().Changed(flag) {
				return nil, fmt.Errorf("%s: --%s does not work with saved reports: use it with regometer report --save", name, flag)
			}
		}
		x, err := report.Load(name)
		if err != nil {
			return nil, err
		}
		return x.Report(), nil
	}
	progress := newProgressLine(cmd.ErrOrStderr())
	defer progress.clear()
	o.Progress = progress.report
	x, err := report.Read(cmd.Context(), o)
	if err != nil {
		return nil, err
	}
	r := x.Report()
	if r.Interrupted { // half a side cannot be compared with a whole one
		return nil, cmd.Context().Err()
	}
	return r, nil
}
