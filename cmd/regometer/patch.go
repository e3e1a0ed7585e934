// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/opa/opabuild"
)

func newPatchCommand() *cobra.Command {
	var back, dryRun bool
	cmd := &cobra.Command{
		Use:   "patch DIR",
		Short: "Put the drop-in into an OPA checkout, or take it out",
		Long: `Puts the drop-in into the OPA checkout or source folder DIR, as OPA's maintainers
would commit it: only files in v1/metrics change, with OPA's headers, and our tests
come along unless the Go of that OPA is too old for them. OPA's own tests stay, but
for those of unexported names of a file that is replaced. Patching again brings an
earlier drop-in up to date.

--revert brings back the very bytes that were there before. They are recorded in
the checkout's Git folder, or in DIR/.regometer-patch.json if there is none.

Edits of yours are never lost: if a file was edited since it was patched, both
refuse and name it. A tree without any of the drop-in's files, as after "git reset"
and "git clean", counts as not patched.`,
		Example: `  regometer patch --dry-run ../opa
  regometer patch ../opa
  regometer patch --revert ../opa`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var result opabuild.PatchResult
			var err error
			nothing := "nothing to do: %s holds this drop-in already\n"
			if back {
				result, err = opabuild.Revert(args[0], dryRun)
				nothing = "nothing to do: %s is not patched\n"
			} else {
				result, err = opabuild.Patch(cmd.Context(), args[0], dryRun)
			}
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			would := ""
			if dryRun {
				would = "would "
			}
			for _, c := range result.Changes {
				fmt.Fprintf(out, "%s%s %s\n", would, c.Action, c.Path)
			}
			if len(result.Changes) == 0 {
				fmt.Fprintf(out, nothing, args[0])
			}
			for _, note := range result.Notes {
				fmt.Fprintf(cmd.ErrOrStderr(), "regometer: %s\n", note)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&back, "revert", false, "take the drop-in out")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would change, and change nothing")
	return cmd
}
