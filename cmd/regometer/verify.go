// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

func newVerifyCommand() *cobra.Command {
	var o opabuild.VerifyOptions
	var quick bool
	var dir string
	cmd := &cobra.Command{
		Use:   "verify [-C DIR] [PACKAGES...] [-- GO TEST FLAGS]",
		Short: "Run OPA's own tests, or a program's, with and without the drop-in",
		Long: `Runs OPA's own tests on OPA as it is and on OPA with the drop-in, with the tags
that OPA's own CI uses, one package after another, and prints them side by side.
The exit status is 1 if a test fails, is missing or is skipped with the drop-in
but not on the unmodified OPA. Before that is said, both run once more, so that a
test which fails now and then does not count; it is reported as flaky.

A test that fails on the unmodified OPA too is reported as such: some want tools
or hosts that this machine lacks. Not run with the drop-in are tests of unexported
names of a file that it replaces; they are named. Our own tests of v1/metrics, which
patch brings, run with the drop-in; then OPA's linter does, in the version that OPA
pins and with its configuration. Where that cannot be had, it is said.

--upstream does the same, by default with OPA ` + opabuild.UpstreamVersion + `, with the series of small
changes that is proposed to OPA's maintainers in the place of the drop-in; --upstream=N
with its first N steps. Tests that a step removes are named.

The packages by default:
` + wrap(opabuild.VerifyPackages) + `
v1/plugins/rest, whose tests want hosts on the Internet, runs only if it is named.
With --quick:
` + wrap(opabuild.QuickPackages) + `
All of it takes half an hour the first time, then about five minutes a side.

` + verifyProgramHelp,
		Example: `  regometer verify --quick
  regometer verify --packages v1/metrics,v1/plugins/...
  regometer verify --packages cmd --run TestEval --count 3
  regometer verify --opa ../opa --keep verify-output
  regometer verify --upstream --quick
  regometer verify --upstream=3 --packages v1/metrics
  regometer verify ./...
  regometer verify -C ../conftest --run TestPolicy ./policy/... -- -short`,
		Args: programArgs(&dir, -1, "opa", "upstream", "quick", "packages"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if quick {
				o.Packages = opabuild.QuickPackages
			}
			o.Progress = cmd.ErrOrStderr()
			if names, flags, ok := programOf(cmd, dir, args); ok {
				o.Program, o.Dir, o.Packages, o.Flags = true, dir, names, flags
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
	addChdirFlag(cmd, &dir)
	addGoFlagHint(cmd, "go test")
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Packages, "packages", nil, "`folders` in OPA's tree, with commas; /... takes those below too")
	flags.BoolVar(&quick, "quick", false, "run a few packages only")
	flags.StringVar(&o.Run, "run", "", "run only the tests that match this `pattern`, as go test does")
	flags.IntVar(&o.Count, "count", 1, "run each test so many times")
	flags.StringVar(&o.Keep, "keep", "", "`folder` to write the output of what failed to")
	cmd.MarkFlagsMutuallyExclusive("packages", "quick")
	return cmd
}

// wrap lists names in lines of under 80 characters.
func wrap(names []string) string {
	var b strings.Builder
	column := 0
	for _, name := range names {
		if column > 0 && column+len(name)+1 > 79 {
			b.WriteByte('\n')
			column = 0
		}
		if column == 0 {
			b.WriteByte(' ')
		}
		b.WriteByte(' ')
		b.WriteString(name)
		column += len(name) + 1
	}
	return b.String()
}
