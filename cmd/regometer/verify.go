// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

func newVerifyCommand() *cobra.Command {
	var o opabuild.VerifyOptions
	var quick bool
	cmd := &cobra.Command{
		Use:   "verify [-C DIR] [PACKAGES...] [-- GO TEST FLAGS]",
		Short: "Run OPA's own tests, or a program's, with and without the drop-in",
		Long: `Runs OPA's own tests on OPA as it is and on OPA with the drop-in and, except with
--pure, the fixes of "regometer build", and prints the results side by side. With
--upstream, it tests the series for OPA, or only its first N steps.

The exit status is 1 if a test fails, is missing or is skipped with the drop-in, but not
on the unmodified OPA, or if no test runs there. A test that does worse with it runs
again on both, and is called flaky if the difference does not repeat. The report names
tests that fail on the unmodified OPA, which may lack tools or hosts, and tests that
cannot run with the drop-in, because they test unexported names of a replaced file.

The packages by default, which take half an hour the first time:
` + list(opabuild.VerifyPackages) + `
The packages with --quick:
` + list(opabuild.QuickPackages) + `
To test a program with OPA inside, name packages of its module, or a folder of the
module with -C. Its tests, by default those of "./...", then run on the OPA that the
module selects, and on that OPA with the drop-in. The flags after "--" go to go test.`,
		Example: `  regometer verify --quick
  regometer verify --packages v1/metrics,v1/plugins/...
  regometer verify --packages cmd --run TestEval --count 3
  regometer verify --opa ../opa
  regometer verify --upstream=3 --packages v1/metrics
  regometer verify -C ../conftest --run TestPolicy ./policy/... -- -short`,
		Args: func(cmd *cobra.Command, args []string) error {
			return checkProgram(cmd, args, "opa", "upstream", "quick", "packages")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if quick {
				o.Packages = opabuild.QuickPackages
			}
			o.Progress = cmd.ErrOrStderr()
			if names, flags, ok := programOf(cmd, args); ok {
				o.Program, o.Packages, o.Flags = true, names, flags
			}
			report, err := opabuild.Verify(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := report.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			if !report.OK() {
				return statusError(exitFailure)
			}
			return nil
		},
	}
	addOPAFlag(cmd, &o.OPA)
	addUpstreamFlag(cmd, &o.Upstream)
	addPureFlag(cmd, &o.Options)
	addChdirFlag(cmd, &o.Dir, "go test")
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Packages, "packages", nil, "`folders` in OPA's tree, separated by commas; /... adds the folders below")
	flags.BoolVar(&quick, "quick", false, "test only a few packages")
	flags.StringVar(&o.Run, "run", "", "run only the tests that match this `pattern`, as go test does")
	addNumberFlag(cmd, &o.Count, "count", 1, "`number` of times that each test runs (default 1)")
	cmd.MarkFlagsMutuallyExclusive("packages", "quick")
	cmd.MarkFlagsMutuallyExclusive("upstream", "pure")
	return cmd
}

// list returns the names in indented lines of at most 80 characters.
func list(names []string) string {
	return "  " + strings.Join(text.Wrap(strings.Join(names, " "), 78), "\n  ")
}
