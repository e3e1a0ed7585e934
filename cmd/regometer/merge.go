// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/report"
)

func newMergeCommand() *cobra.Command {
	var out reportOutput
	cmd := &cobra.Command{
		Use:   "merge FILE.rgm ...",
		Short: "Merge reports that were saved, into one",
		Long: `Reads what regometer report --save has written, on as many machines as there are,
and prints the report that regometer report would have printed of all the logs.

The reports must have been made with the same --by and --slowest. A file that is
named twice is read once. One that is damaged, or that a newer regometer has saved
in another format, is an error.

` + outputHelp,
		Example: `  regometer merge monday.rgm tuesday.rgm
  regometer merge --format json hosts/*.rgm > report.json
  regometer merge --save week.rgm --top 5 day-*.rgm`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return out.check() },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.files.check(cmd, args); err != nil {
				return err
			}
			limitMemory()
			x, err := report.LoadAll(args...)
			if err != nil {
				return err
			}
			_, err = out.write(cmd.OutOrStdout(), x)
			return err
		},
	}
	out.flags(cmd)
	return cmd
}
