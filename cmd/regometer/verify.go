// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
	"github.com/regometer/regometer/internal/app/text"
)

func newVerifyCommand() *cobra.Command {
	var o opabuild.VerifyOptions
	var quick bool
	cmd := &cobra.Command{
		Use:   "verify [-C DIR] [PACKAGES...] [-- GO TEST FLAGS]",
		Short: "Run OPA's own tests, or a program's, with and without the drop-in",
		Long: `Runs OPA's own tests on OPA as it is and on OPA with the drop-in, with the tags
that OPA's own CI uses, one package after another, and prints the results side by
side. The OPA with the drop-in has the fixes that "regometer build" puts in, except
with --pure. The exit status is 1 if a test fails, is missing or is skipped with the
drop-in and not on the unmodified OPA. The command runs such a test again on both
sides, and reports it as flaky if the difference does not repeat.

The report also names the tests that fail on the unmodified OPA: some need tools or
hosts that this machine lacks. It names the tests that do not run with the drop-in,
because they test unexported names of a file that the drop-in replaces. Regometer's
own tests of v1/metrics run with the drop-in. Then OPA's linter runs, in OPA's version
and configuration.

--upstream does the same, by default with OPA ` + opabuild.UpstreamVersion + `, with the series of small
changes that is proposed to OPA's maintainers in the place of the drop-in.
--upstream=N takes the first N steps. The report names tests that a step removes.

The packages by default:
` + list(opabuild.VerifyPackages) + `
v1/plugins/rest, whose tests need hosts on the Internet, runs only if it is named.
With --quick:
` + list(opabuild.QuickPackages) + `
All of it takes half an hour the first time, then about five minutes a side.

With PACKAGES, or with -C, which names a folder of a module, the command runs that
module's tests instead, "./..." by default: on the OPA that the module selects, and on
that OPA with the drop-in, as "regometer build" puts it into a program. The flags
after "--" go to go test. No linter runs then.`,
		Example: `  regometer verify --quick
  regometer verify --packages v1/metrics,v1/plugins/...
  regometer verify --packages cmd --run TestEval --count 3
  regometer verify --opa ../opa --keep verify-output
  regometer verify --upstream --quick
  regometer verify --upstream=3 --packages v1/metrics
  regometer verify ./...
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
	flags.StringSliceVar(&o.Packages, "packages", nil, "`folders` in OPA's tree, with commas; /... adds the folders below")
	flags.BoolVar(&quick, "quick", false, "run a few packages only")
	flags.StringVar(&o.Run, "run", "", "run only the tests that match this `pattern`, as go test does")
	flags.IntVar(&o.Count, "count", 1, "number of times that each test runs")
	flags.StringVar(&o.Keep, "keep", "", "`folder` for the output of failed packages")
	cmd.MarkFlagsMutuallyExclusive("packages", "quick")
	cmd.MarkFlagsMutuallyExclusive("upstream", "pure")
	return cmd
}

// list returns indented lines of at most 80 characters.
func list(names []string) string {
	return "  " + strings.Join(text.Wrap(strings.Join(names, " "), 78), "\n  ")
}
