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
		Long: `Runs OPA's own tests on OPA as it is and on OPA with the drop-in, and prints the
results side by side. It tests one package after another, with the tags that OPA's CI
uses. The OPA with the drop-in also has the fixes that "regometer build" puts in, except
with --pure.

The exit status is 1 if a test fails, is missing or is skipped with the drop-in, but not
on the unmodified OPA, or if no test runs there. A test that does worse on one side runs
again on both. If the difference does not repeat, the report calls the test flaky.

The report also names the tests that fail on the unmodified OPA. Some of them need tools
or hosts that this machine lacks. A package counts as broken if its tests do not compile,
cannot start or end early. The report names the tests that cannot run with the drop-in,
because they test unexported names of a file that the drop-in replaces. Regometer's own
tests of v1/metrics run too.

--upstream tests the series of small changes that is proposed to OPA's maintainers,
instead of the drop-in. --upstream=N applies only the first N steps. The report names
tests that a step removes.

The packages by default:
` + list(opabuild.VerifyPackages) + `
v1/plugins/rest, whose tests need hosts on the Internet, runs only if you name it.
The packages with --quick:
` + list(opabuild.QuickPackages) + `
A full run takes half an hour the first time, and later about five minutes per side.

To test a program with OPA inside, name PACKAGES of its module, or a folder of the
module with -C. The command then runs the module's tests, by default those of "./...",
on the OPA that the module selects, and on that OPA with the drop-in, as "regometer
build" puts it into a program. The flags after "--" go to go test.`,
		Example: `  regometer verify --quick
  regometer verify --packages v1/metrics,v1/plugins/...
  regometer verify --packages cmd --run TestEval --count 3
  regometer verify --opa ../opa
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
