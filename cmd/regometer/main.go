// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command regometer reads decision logs of Open Policy Agent (OPA), and builds,
// runs and verifies OPA with the drop-in metrics package and the plugin of
// Regometer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(untilSignal(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses of the command, beside those of opa.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitExceeded    = 3   // --fail-on: a threshold is exceeded, or a rule has a finding
	exitEmpty       = 4   // a report has no decisions
	exitInterrupted = 130 // see interruptedStatus
)

// run is the whole command. It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	started := false // whether the arguments were valid
	for _, cmd := range root.Commands() {
		do := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			started = true
			return do(cmd, args)
		}
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var status statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "regometer: interrupted")
		return interruptedStatus(ctx)
	case !started:
		fmt.Fprintf(stderr, "regometer: %v\nRun '%s --help' for usage.\n", err, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "regometer: %v\n", err)
	return exitFailure
}

// A statusError ends the command with a status. Its message is printed already.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "regometer",
		Short: "See where the time of Open Policy Agent's decisions goes",
		Long: `"report" and "compare" read the decision logs of any Open Policy Agent (OPA) and say
where the time went.

"build", "opa", "patch" and "verify" build, run and check OPA with the package
v1/metrics of Regometer: the same interface, names and JSON, in a fraction of the
time and memory. They add a plugin that shows Prometheus the duration of each stage.

A build needs Go on PATH. The first build of an OPA release also needs a Go module
proxy. The folder $REGOMETER_CACHE, or else "regometer" in the user's cache folder,
keeps what was built. You can delete it at any time.`,
		Example: `  regometer demo
  regometer report decisions.log
  regometer build -o opa
  regometer opa -- run --server policy.rego`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newBuildCommand(),
		newCompareCommand(),
		newDemoCommand(),
		newMergeCommand(),
		newOPACommand(),
		newPatchCommand(),
		newReportCommand(),
		newSampleCommand(),
		newVerifyCommand(),
		newVersionCommand(),
	)
	return root
}
