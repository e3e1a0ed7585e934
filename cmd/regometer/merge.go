// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

func newMergeCommand() *cobra.Command {
	var out reportOutput
	var unique bool
	cmd := &cobra.Command{
		Use:   "merge FILE.rgm|FOLDER ...",
		Short: "Merge saved reports into one",
		Long: `Reads reports that "regometer report --save" saved, on any number of machines, and
prints the report of all their logs. It reads folders with their subfolders.

All reports must be saved with the same --by, by this version of regometer. A finding
says how many decisions several reports have.

` + outputHelp,
		Example: `  regometer merge monday.rgm tuesday.rgm
  regometer merge --format json hosts/*.rgm > report.json
  regometer merge --save week.rgm --top 5 days/*.rgm`,
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no saved reports: name files that regometer report --save wrote")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if unique {
				return errSavedUnique
			}
			files, err := report.InputFiles(args)
			if err := cmp.Or(err, out.files.check(cmd, nil, files...)); err != nil {
				return err
			}
			limitMemory()
			x, err := report.LoadAll(args...)
			if err != nil {
				return err
			}
			r, err := out.write(cmd.OutOrStdout(), x)
			if err != nil {
				return err
			}
			return failedChecks(cmd.ErrOrStderr(), r.Checks(out.shown.FailOn))
		},
	}
	out.flags(cmd)
	cmd.Flags().BoolVar(&unique, "unique", false, "")
	_ = cmd.Flags().MarkHidden("unique") // the flag exists
	return cmd
}

// errSavedUnique is the error of --unique for a saved report.
var errSavedUnique = errors.New("--unique does not work with saved reports, which have sums and not the decisions: " +
	"use regometer report --unique on all the logs together")
