// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

func newPatchCommand() *cobra.Command {
	var back, dryRun bool
	cmd := &cobra.Command{
		Use:   "patch DIR",
		Short: "Put the drop-in into an OPA checkout, or take it out",
		Long: `Puts the drop-in into DIR, an OPA checkout or source folder, as OPA's maintainers would
commit it. Only files in v1/metrics change, and new files get OPA's headers. The
command adds the drop-in's tests if this OPA's Go can compile them. OPA's own tests
stay, except tests of unexported names in a replaced file. The command compiles OPA
with the drop-in before it changes anything, which takes minutes the first time. Run it
again to update an earlier drop-in.

--revert restores the original files byte by byte. The command keeps them in the
checkout's Git folder or, without Git, in DIR/.regometer-patch.json.

The command never overwrites your edits. If you edited a file after the patch, the
command fails and names the file. If no file of the drop-in is left, as after
"git reset" and "git clean", the tree counts as not patched.`,
		Example: `  regometer patch --dry-run ../opa
  regometer patch ../opa
  regometer patch --revert ../opa`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var result opabuild.PatchResult
			var err error
			nothing := "nothing to do: %s holds this drop-in already\n"
			if back {
				result, err = opabuild.Revert(cmd.Context(), args[0], dryRun)
				nothing = "nothing to do: %s is not patched\n"
			} else {
				result, err = opabuild.Patch(cmd.Context(), args[0], dryRun, cmd.ErrOrStderr())
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
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	return cmd
}
